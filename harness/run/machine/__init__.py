"""The machine under a run: its lock, its fingerprint, and what disturbed it while a clock was read."""
