"""One group: its cases compiled, verified and sampled together, and what becomes of each.

`group_run` is the order of the stages, `group_context` what they share, `case_state` a case while they
last and `records` the record that it becomes. Of its run it knows what `run_context` holds.
"""
