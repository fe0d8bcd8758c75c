"""What an open case would need for a verdict, from the spread its pairs have shown."""

import math
import statistics

from harness.analysis.stats import PROCESSES, student_t
from harness.gate.outcome import NOT_ENOUGH
from harness.gate.report import wording
from harness.gate.report.evidence import CaseEvidence
from harness.gate.timed.decision import Margin, judge

MOST_PAIRS = 1000  # a verdict that needs more is called out of reach


def required_pairs(evidence: CaseEvidence) -> list[str]:
    """What would settle an open case, and what the pairs at hand could have told."""
    effects, margin = evidence.deciding, evidence.margin
    if len(effects) < PROCESSES:
        return []
    mean, spread, count = statistics.fmean(effects), statistics.stdev(effects), len(effects)
    reach = student_t(1 - margin.regressed, count - 1) * spread / math.sqrt(count)
    now = (
        f"smallest detectable now, with {count} pairs that spread by {100 * spread:.1f} %: "
        f"a mean of {wording.percent(margin.least + reach)} is called regressed"
    )
    if judge(effects, margin).verdict != NOT_ENOUGH or evidence.verdict.verdict != NOT_ENOUGH:
        return [now]
    answers = (("regressed", mean - margin.least), ("unchanged", margin.excluded - mean))
    needs = [f"{word} with {_so_many(spread, away, margin)}" for word, away in answers if away > 0]
    return [
        now,
        f"if mean and spread stay as they are: {', '.join(needs)}; --max-pairs and --budget give more",
    ]


def _so_many(spread: float, away: float, margin: Margin) -> str:
    needed = pairs_needed(spread, away, margin.regressed)
    return f"more than {MOST_PAIRS} pairs, out of reach" if needed is None else f"{needed} pairs"


def pairs_needed(spread: float, distance: float, error: float = 0.01) -> int | None:
    """The fewest pairs whose bound is nearer to the mean than `distance`; None where no number will do."""
    for count in range(PROCESSES, MOST_PAIRS + 1):
        if student_t(1 - error, count - 1) * spread / math.sqrt(count) < distance:
            return count
    return None
