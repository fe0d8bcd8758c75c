"""Drawing charts with matplotlib: a page of panels, their axes, lines, outcome strips and words.

It draws what `charts.model` holds and knows nothing of records.
"""
