"""The machine under a run: its lock, its fingerprint, its noise, and interference while sampling."""
