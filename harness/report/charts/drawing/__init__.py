"""Drawing of charts with matplotlib: a page of panels, their axes, lines, outcome strips and texts.

It draws the data of `charts.model` and does not use records.
"""
