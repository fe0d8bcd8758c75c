"""Planning: turns bench.yaml and the flags into an ordered schedule of groups of cases.

Every value has the place where it was written, so that an error names the line or the flag.
`project` is the entry point: configuration, catalog and schedule of a command. Imports catalog and core.
"""
