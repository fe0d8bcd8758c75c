"""The runner's own process: what runs when, for how long, within which limits.

`session` conducts a run, `group` one group of cases, `sampling` the rounds; `processes` starts and
ends workers. It loads no framework and never imports worker or xla: both sides know core/protocol.
"""
