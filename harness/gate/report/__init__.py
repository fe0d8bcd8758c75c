"""A gate's outcome: for people a table and an explanation, for CI annotations, a summary and JUnit.

All of them take their sentences from :mod:`harness.gate.report.wording`. None decides anything, and none
reads a clock or a store: what is not in the outcome is not shown.
"""
