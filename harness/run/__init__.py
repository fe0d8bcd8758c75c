"""The runner: the process that decides what runs when, for how long and within which limits.

`session` executes a run, `runner` measures its groups in turn, `group/` measures one group, and `case/` has
the state of a case. `processes/` starts and ends workers. The runner loads no framework and does not import
worker or xla: it communicates with them by core/protocol.
"""
