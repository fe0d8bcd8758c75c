"""numpy on the host."""
