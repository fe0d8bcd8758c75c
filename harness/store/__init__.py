"""The store of runs: one folder per run, records as checked lines of an append-only file.

A write is whole or not there; damage is reported by line and never hidden. Imports core alone: the
store knows nothing of schedules, and a feature keeps its own files in its own room.
"""
