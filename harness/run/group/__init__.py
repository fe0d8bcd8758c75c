"""One group: its cases compiled, verified and sampled together, and what becomes of each.

`group_run` is the order of the stages, `group_context` what they share, and `records` what a case becomes.
Of its run it knows what `run_context` holds.
"""
