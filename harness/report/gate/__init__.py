"""A gate's outcome: for people a table and an explanation, for CI annotations, a summary and JUnit.

All of them say it in the words of :mod:`harness.report.gate.words`. None decides anything, and none
reads a clock or a store: what is not in the outcome is not shown.
"""

from harness.report.gate.evidence import Evidence
from harness.report.gate.explain import print_explanation
from harness.report.gate.github import annotations, summary
from harness.report.gate.junit import junit
from harness.report.gate.table import gate_data, print_gate

__all__ = [
    "Evidence",
    "annotations",
    "gate_data",
    "junit",
    "print_explanation",
    "print_gate",
    "summary",
]
