"""The gate: is the working tree slower than a base, or does it plan more? Regressed, unchanged, or open.

`planning` says which cases meet which base; `timed` decides with a clock, `static` without one; `sides`
brings the base's code; `report` and `output` show the outcome. Imports report and everything
below it, never commands or claims.
"""
