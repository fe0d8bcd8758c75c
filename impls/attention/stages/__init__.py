"""Stages of native sparse attention by themselves: compression, selection, gating."""
