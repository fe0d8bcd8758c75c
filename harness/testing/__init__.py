"""Contracts, checks and timing for another project's test suite, published as `seqsweep.testing`.

`cases` runs the same steps as the commands. `target` registers a test's callable through a plugin file, and
plans its cases. Imports report and everything below it.
"""
