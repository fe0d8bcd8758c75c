"""A family's contracts, checks and clock in somebody else's test suite, offered as `seqsweep.testing`.

`cases` runs what the commands run, by the same stages; `plugin_file` lets a case's process find a callable
of a test; `failure` is what a failed test says. Imports report and everything below it.
"""
