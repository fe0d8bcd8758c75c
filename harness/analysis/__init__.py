"""Pure functions over records: intervals, comparisons, scaling, crossovers, warnings.

Only `history` reads stored runs; nothing here starts a process or prints. Analysis for a
single feature (a gate's test, the verdict on a claim) is in that feature's package.
"""
