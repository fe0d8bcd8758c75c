"""One module per command: flags in, one call per stage, what to print, the exit code.

Only cli.py and harness/entry import this room, and heavy modules load only where a command needs them:
`seqsweep list` starts without numpy. A rule that two commands share belongs in a room below.
"""
