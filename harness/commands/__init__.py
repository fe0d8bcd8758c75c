"""The commands, a module each: parse flags, call one function per stage, print, return the exit code.

Only cli.py and harness/entry import this package. A command imports heavy modules only when it needs them:
`seqsweep list` starts without numpy. Rules that two commands share belong in a layer below.
"""
