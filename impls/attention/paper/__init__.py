"""Native sparse attention as the paper means it: overlapping compression, and heads that share blocks."""
