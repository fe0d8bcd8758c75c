"""Charts of a suite as SVG: drawn again from the same records they are the same bytes.

Imports matplotlib, so it is itself imported only where a chart is asked for.
"""

from harness.report.charts.suite import draw_run, draw_suite

__all__ = ["draw_run", "draw_suite"]
