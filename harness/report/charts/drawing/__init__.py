"""How a chart looks: a page of panels, their axes, lines, outcome strips and words, laid out by matplotlib.

It draws what `charts.model` holds and knows nothing of records.
"""
