"""Layer 1: what can be run. Families, implementations, and how both are found."""
