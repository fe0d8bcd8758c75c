"""MSLK's native sparse attention by tiles, compiled by numba."""
