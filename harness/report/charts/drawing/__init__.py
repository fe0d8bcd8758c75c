"""How a chart looks: a page of panels, their axes, lines, marks and words, in inches, by matplotlib.

It draws what `charts.model` holds and knows nothing of records.
"""
