"""The commands: flags in, one call per stage, output, and the exit code; a module each.

Only cli.py and harness/entry import this room, and heavy modules load only where a command needs them:
`seqsweep list` starts without numpy. A rule that two commands share belongs in a layer below.
"""
