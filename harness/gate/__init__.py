"""Regression gate: compares the working tree with a base, by time or by static figures.

`plan` selects the cases and their counterparts. `timed` measures both sides, and `static` compiles both.
`sides` checks out the base. `report` and `output` show the outcome. Imports report and everything below it,
never commands or claims.
"""
