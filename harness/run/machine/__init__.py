"""The machine of a run: its lock, its fingerprint, its memory, and interference during sampling."""
