"""Segment lengths and offsets of packed rows, computed from each token's segment id and position."""
