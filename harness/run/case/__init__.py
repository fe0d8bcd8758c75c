"""One case while its group runs: what compiling, verifying and sampling have found, and what follows from it.

`case_state` holds the frozen values that the stages hand on, and the `samples`, which alone grow.
"""
