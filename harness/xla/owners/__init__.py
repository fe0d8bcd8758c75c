"""Owners of the planned peak of a compiled program: its buffers, with their source lines."""

from harness.xla.owners.compiled import owners

__all__ = ["owners"]
