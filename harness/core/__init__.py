"""The words of the project as frozen data: case, workload, record, metric, units, errors, protocol, answers.

A class here checks itself when it is built: a record that contradicts itself cannot exist. `paths` and
`machine` say where the project lies, and what of this machine it may use. Standard library only, but
for msgspec where plain data is checked, and nothing of the harness is imported: every other room may import
this one.
"""
