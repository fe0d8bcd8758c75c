"""Native sparse attention as flash-linear-attention means it."""
