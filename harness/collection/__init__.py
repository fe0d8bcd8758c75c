"""Collecting stored runs of several machines into one folder of results."""
