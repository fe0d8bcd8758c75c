"""The two sides of a gate: what they are, where their code lies, and the pairs that are timed."""
