"""Sweeps on several machines of a cluster; each machine measures whole groups."""
