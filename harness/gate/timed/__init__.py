"""Timed gate: measures pairs of processes, one per side, until a sequential test has decided each case.

The pair of processes is the statistical unit. `loop` spends the budget, `pair` runs one pair, `sampling`
times the calls, and `sequential_test` and `decision` evaluate the effects. The constants in these files were
measured by the drills of docs/gate: change one only with a new drill.
"""
