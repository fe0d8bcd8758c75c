"""The state of one case while its group runs: the results of compiling, verifying and sampling it.

Each stage stores a frozen value in `case_state`; only its `samples` are mutable.
"""
