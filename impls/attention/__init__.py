"""Causal attention over long sequences: dense attention, and sparse forms that replace it."""
