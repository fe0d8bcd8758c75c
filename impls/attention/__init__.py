"""Causal attention over long sequences: dense, and the sparse forms that stand in for it."""
