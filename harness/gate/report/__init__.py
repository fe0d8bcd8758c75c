"""A gate's outcome: for people a table and an explanation, for CI annotations, a summary and JUnit.

All of them take their sentences from :mod:`harness.gate.report.wording`. None decides anything, and none
reads a clock or a store: what is not in the outcome is not shown.
"""

from harness.gate.report.evidence import CaseEvidence
from harness.gate.report.explain import print_explanation
from harness.gate.report.github import annotations, summary
from harness.gate.report.junit import junit
from harness.gate.report.table import gate_data, print_gate

__all__ = [
    "CaseEvidence",
    "annotations",
    "gate_data",
    "junit",
    "print_explanation",
    "print_gate",
    "summary",
]
