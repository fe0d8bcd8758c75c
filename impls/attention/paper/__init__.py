"""Native sparse attention in the paper's form: overlapping compression, and heads that share blocks."""
