"""Native sparse attention in the form of flash-linear-attention."""
