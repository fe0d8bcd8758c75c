"""The store of runs: one folder per run, records as lines with checksums in an append-only file.

Writes are atomic, and damage is reported by line. The store imports only core: it does not know schedules,
and each feature reads and writes its own files.
"""
