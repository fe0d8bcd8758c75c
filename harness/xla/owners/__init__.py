"""Who owns the planned peak of a compiled program: its buffers, with the source lines that made them."""

from harness.xla.owners.compiled import owners

__all__ = ["owners"]
