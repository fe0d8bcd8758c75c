"""The project's terms as frozen data: case, workload, record, metric, units, errors and protocol.

Classes here validate themselves when they are built, so a record cannot contradict itself. `paths` has the
project's folders, and `machine` the resources that it may use. Every other package may import this one. It
imports only the standard library, and msgspec to validate plain data.
"""
