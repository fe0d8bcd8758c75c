"""Worker processes, on the runner's side: start, send requests, park, end, and explain a death.

After a change here, run tests/worker/test_endings: a process left behind disturbs the next measurement.
Imports store, sweep, catalog and core.
"""
