"""The runner: the process that decides what runs when, for how long and within which limits.

`session` carries out a run, `runner` measures its groups one after the other, `group/` one group, and `case/`
is the state of a case. `processes/` starts and ends workers. The runner loads no framework and imports
neither worker nor xla: it talks to them by core/protocol.
"""
