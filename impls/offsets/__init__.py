"""Segment lengths and offsets of packed rows, from the segment id and position of every token."""
