"""The pairs that an open case needs for a verdict, estimated from the spread of those measured."""

import statistics

from harness.analysis.stats import PROCESSES, t_half_width
from harness.gate.case_evidence import CaseEvidence
from harness.gate.noise.detectable import pairs_needed
from harness.gate.outcome import NOT_ENOUGH, CaseVerdict
from harness.gate.report import wording
from harness.gate.timed.decision import Margin, judge

MOST_PAIRS = 1000  # a verdict that needs more is called out of reach


def required_pairs(case: CaseVerdict, evidence: CaseEvidence) -> list[str]:
    """Sentences: the smallest effect these pairs can detect, and how many would settle an open case."""
    effects, margin = evidence.deciding, evidence.margin
    if len(effects) < PROCESSES:
        return []
    mean, spread, count = statistics.fmean(effects), statistics.stdev(effects), len(effects)
    reach = t_half_width(spread, count, 1 - margin.regressed)
    now = (
        f"smallest detectable now, with {count} pairs that spread by {100 * spread:.1f} %: "
        f"a mean of {wording.percent(margin.least + reach)} is called regressed"
    )
    if judge(effects, margin).verdict != NOT_ENOUGH or case.verdict != NOT_ENOUGH:
        return [now]
    answers = (("regressed", mean - margin.least), ("unchanged", margin.excluded - mean))
    needs = [
        f"{word} with {_pairs_text(spread, distance, margin)}" for word, distance in answers if distance > 0
    ]
    return [
        now,
        f"if mean and spread stay as they are: {', '.join(needs)}; --max-pairs and --budget give more",
    ]


def _pairs_text(spread: float, distance: float, margin: Margin) -> str:
    needed = pairs_needed(spread, distance, margin.regressed, MOST_PAIRS)
    return f"more than {MOST_PAIRS} pairs, out of reach" if needed is None else f"{needed} pairs"
