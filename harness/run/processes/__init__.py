"""Worker processes seen from the runner: start, ask, park, end, and say why one died.

Change nothing here without tests/worker/test_endings: what a dying process leaves behind is noise in
the next measurement. Imports store, sweep, catalog and core.
"""
