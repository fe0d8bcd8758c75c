"""MSLK's native sparse attention by tiles, in machine code of numba's."""
