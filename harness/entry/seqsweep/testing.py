"""A family's contracts and checks in your own test suite: `from seqsweep.testing import check, measure`."""

from . import describe_foreign

# Refuse another project's `harness` before it is imported.
if problem := describe_foreign("harness", "impls"):
    raise ImportError(problem)

from harness.testing.cases import check, measure

__all__ = ["check", "measure"]
