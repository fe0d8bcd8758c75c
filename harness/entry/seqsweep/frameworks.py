"""Base of the runner of your own framework: `from seqsweep.frameworks import Framework`.

An entry point of the group `seqsweep.frameworks` names its traits (`from seqsweep import FrameworkTraits`).
"""

from . import describe_foreign

# Refuse another project's `harness` before it is imported.
if problem := describe_foreign("harness", "impls"):
    raise ImportError(problem)

from harness.core.static_figures import Static
from harness.worker.frameworks.base import Framework, Prepared, TraceLimits

__all__ = ["Framework", "Prepared", "Static", "TraceLimits"]
