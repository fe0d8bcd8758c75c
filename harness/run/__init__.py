"""The runner's own process: what runs when, for how long, within which limits.

`session` conducts a run, `runner` takes its groups one after the other, and `group/` measures one; a
`case/` is what its stages hand on. `processes/` starts and ends workers. It loads no framework and never
imports worker or xla: both sides know core/protocol.
"""
