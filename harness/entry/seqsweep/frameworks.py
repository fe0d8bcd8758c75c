"""A framework of one's own: `from seqsweep.frameworks import Framework`, and an entry point of that group."""

from . import describe_foreign

# Whose harness this is has to be known before it is imported.
if problem := describe_foreign("harness", "impls"):
    raise ImportError(problem)

from harness.core.static_figures import Static
from harness.worker.frameworks.base import Framework, Patience, Prepared

__all__ = ["Framework", "Patience", "Prepared", "Static"]
