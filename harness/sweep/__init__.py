"""Planning: bench.yaml and the flags become an ordered schedule of groups of cases.

Every value keeps the place where it was written, so that an error names the line or the flag.
`project` is the door: configuration, catalog and schedule of one command. Imports catalog and core.
"""
