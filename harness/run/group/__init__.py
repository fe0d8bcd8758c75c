"""One group: its cases are compiled, verified and sampled together.

`group_run` has the order of the stages, `group_context` what they share, `run_context` what all groups of a
run share, and `records` turns settled cases into records.
"""
