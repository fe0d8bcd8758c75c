"""One group: its cases are compiled, verified and sampled together.

`group_run` has the order of the stages and makes the records. `group_context` is shared by the stages of a
group, `run_context` by all groups of a run.
"""
