"""Presentation of a run: tables, charts, live progress, JSON. Records in, text and SVG out.

It measures and decides nothing; every figure comes from harness.analysis. The gate and claims have their own
reports, which use the tables of this package.
"""
