"""Layer 5: what the flags of a command mean for the layers below; everything heavy loads when asked for."""
