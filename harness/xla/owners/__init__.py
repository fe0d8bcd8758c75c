"""Owners of the planned peak of a compiled program: its buffers, with their source lines."""
