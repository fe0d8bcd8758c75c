"""The public interface: `from harness import …` in built-in families, `from seqsweep import …` in plugins."""

from harness.catalog.arrays import Array, Shapes, Sharding, cast
from harness.catalog.bounds import recall, within
from harness.catalog.contract import Contract, Evidence, Judgement, exact, leaves, tolerance
from harness.catalog.family import Check, Family, Semantics, Trial
from harness.catalog.generated_inputs import LENGTHS, PACKERS, SCORE_DISTRIBUTIONS, draw_scores, packed_rows
from harness.catalog.implementation import OwnSemantics, implementation
from harness.catalog.models import Model, ModelWorkload, Phase
from harness.core.errors import Unsupported
from harness.core.record import Cost
from harness.core.stage import stage
from harness.core.workload import Workload, axis

__all__ = [
    "LENGTHS",
    "PACKERS",
    "SCORE_DISTRIBUTIONS",
    "Array",
    "Check",
    "Contract",
    "Cost",
    "Evidence",
    "Family",
    "Judgement",
    "Model",
    "ModelWorkload",
    "OwnSemantics",
    "Phase",
    "Semantics",
    "Shapes",
    "Sharding",
    "Trial",
    "Unsupported",
    "Workload",
    "axis",
    "cast",
    "draw_scores",
    "exact",
    "implementation",
    "leaves",
    "packed_rows",
    "recall",
    "stage",
    "tolerance",
    "within",
]
