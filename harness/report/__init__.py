"""Presentation of a run: tables, charts, live progress, JSON. Records in, text and SVG out.

Nothing is measured or decided here: what analysis does not say is not shown. What a gate or a claim
prints lies in their own rooms, which use the tables of this one.
"""
