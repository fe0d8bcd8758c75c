"""Reports of a gate: a table and an explanation for people; annotations, a summary and JUnit for CI.

All take their sentences from :mod:`harness.gate.report.wording`. They decide nothing and read neither a
clock nor a store: everything they show is in the outcome.
"""
