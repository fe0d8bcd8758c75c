"""Layer 3, inside measuring processes only: the one place that loads frameworks and reads clocks."""
