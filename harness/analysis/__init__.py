"""Pure functions over records: intervals, comparisons, scaling, crossovers, warnings.

Nothing here reads a file, starts a process or prints. What only one feature needs (a gate's test, the
verdict on a claim) lies in that feature's room. Imports store, sweep, catalog and core.
"""
