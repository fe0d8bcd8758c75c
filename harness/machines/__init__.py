"""Machines of a cluster, each of which measures whole comparison groups of one sweep."""
