"""Reference implementations of each semantics, plain and in high precision."""
