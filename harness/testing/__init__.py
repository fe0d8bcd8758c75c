"""A family's contracts, checks and clock in somebody else's test suite, offered as `seqsweep.testing`.

`cases` runs what the commands run, by the same stages; `target` registers a test's callable and plans its
cases; `plugin_file` lets a case's process import that callable; `failure` words the message of a failed test.
Imports report and everything below it.
"""
