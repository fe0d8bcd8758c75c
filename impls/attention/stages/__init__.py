"""Single stages of native sparse attention: compression, selection, gating."""
