"""A family's contracts, checks and timing in another project's test suite, published as `seqsweep.testing`.

`cases` runs the same stages as the commands. `target` registers a test's callable and plans its cases.
`plugin_file` lets a case's process import that callable. `failure` writes the message of a failed test.
Imports report and everything below it.
"""
