"""Exact selection: all of the k largest, by different algorithms."""
