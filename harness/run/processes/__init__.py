"""Worker processes, on the runner's side: start, ask, park, end, and explain a death.

Change nothing here without running tests/worker/test_endings: a process left behind disturbs the next
measurement. Imports store, sweep, catalog and core.
"""
