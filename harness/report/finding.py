"""The finding of a panel in one sentence: what beats the baseline, from which length, and by how much.

It claims no more than the intervals allow. A crossover needs intervals that exclude 1 on both sides.
An interval close to 1 means about the same; a wider one that contains 1 means undecided.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from harness.analysis.compare import Comparison
from harness.analysis.results import SuiteRecords
from harness.analysis.stats import DOUBTFUL, FASTER, SAME, SLOWER, UNDECIDED
from harness.analysis.suite_results import CaseResult, SuiteResults
from harness.core.grouped import collected
from harness.core.units import format_count
from harness.report import format as fmt


@dataclass(frozen=True)
class PanelFinding:
    """The fastest implementation at the longest length at which it and the baseline were timed.

    `compared` is its comparison there: labels, length, speedup with its interval. `verdict` is FASTER,
    SLOWER, SAME, DOUBTFUL, or UNDECIDED if the intervals do not decide. At most one of three is set:
    `faster_from` (slower before), `faster_until` (faster at every length up to it, and not beyond), or
    `before` (a verdict other than FASTER and SLOWER, and the length up to which it holds). `everywhere`: the
    verdict holds at every length, of two or more. `semantics` is set if the result is not equivalent to the
    baseline's. `step` is the time that it saves per step of the panel's models.
    """

    compared: Comparison
    verdict: str
    faster_from: int | None = None
    faster_until: int | None = None
    before: tuple[str, int] | None = None
    everywhere: bool = False
    semantics: str | None = None
    step: str = ""

    @property
    def implementation(self) -> str:
        """Its label without the family."""
        return fmt.short_label(self.compared.implementation)

    @property
    def baseline(self) -> str:
        return fmt.short_label(self.compared.baseline or "")

    @property
    def ratio(self) -> str:
        """`2.42×`: as many digits as its interval supports, three at most; `≈2×` if the interval is vague."""
        speedup, low, high = self.compared.speedup or 1.0, self.compared.low, self.compared.high
        if low is not None and high is not None and fmt.is_vague(low, high):
            return fmt.vague_ratio(speedup)
        return f"{fmt.significant(speedup, min(fmt.digits(speedup, low, high), 3))}×"

    def sentence(self) -> str:
        """`sparse beats dense from 16Ki: 2.42×`, without capital and full stop."""
        other = "not mathematically equivalent" if self.semantics else ""
        remarks = ", ".join(filter(None, (self._why_no_interval(), other)))
        return "; ".join(filter(None, (self._claim() + (f" ({remarks})" if remarks else ""), self.step)))

    @property
    def tendency(self) -> tuple[str, str] | None:
        """(`faster`, `in each of 3 rounds`) if there is no interval but all samples are on one side of 1."""
        compared = self.compared
        if self.verdict != UNDECIDED or compared.low is not None or not compared.unanimous:
            return None
        word = FASTER if compared.side > 0 else SLOWER
        return word, f"in each of {compared.samples} {compared.unit}"

    def _why_no_interval(self) -> str:
        if self.compared.low is not None:
            return ""
        return f"no interval: {self.compared.reason}" if self.verdict == UNDECIDED else "no interval"

    @property
    def _prefix(self) -> str:
        """`about the same up to 4Ki, then `, or empty."""
        return f"{self.before[0]} up to {format_count(self.before[1])}, then " if self.before else ""

    def _claim(self) -> str:
        """The claim of the sentence: what beats what, from which length, and by how much."""
        name, base, at = self.implementation, self.baseline, format_count(self.compared.seq)
        beats, last = f"{name} beats {base}", f"{self.ratio} at {at}"
        match self.verdict:
            case _ if self.faster_until is not None:
                return f"{beats} up to {format_count(self.faster_until)}, then {self.verdict}: {last}"
            case "undecided" | "doubtful" as verdict:
                return f"{name} compared with {base}: {' '.join(self.tendency or (verdict,))}, {last}"
            case "about the same":
                return f"{name} and {base} take about the same time: {last}"
            case "slower":
                return (
                    f"{self._prefix}no implementation beats {base} at {at}: {name} is closest, {self.ratio}"
                )
            case _ if self.faster_from == self.compared.seq:
                return f"{beats} from {at}: {self.ratio}"
            case _:
                since = f" from {format_count(self.faster_from)}" if self.faster_from else ""
                whole = " at every length" if self.everywhere else ""
                return f"{self._prefix}{beats}{since}{whole}: {last}"


def finding_of(panel: SuiteResults, label: str) -> PanelFinding | None:
    """The finding of one implementation; None if it was never timed together with the baseline."""
    cases = panel.by_label.get(label, [])
    distrusted = {records[0].case for records in cases if records.distrusted}
    known = (c for (_, name), own in panel.series.items() if name == label for c in own)
    series = [c for c in known if c.speedup is not None and c.case not in distrusted]
    if not series:
        return None
    semantics = baseline_semantics(panel)
    other = cases[0][0].semantics
    found = _describe(series, None if other == semantics else other)
    return replace(found, step=step_saving(panel, found.compared))


def baseline_semantics(panel: SuiteResults) -> str | None:
    """The baseline's semantics; None if the panel has no record of it."""
    return next((records[0].semantics for records in panel.by_label.get(panel.baseline, ())), None)


def by_meaning(cases: Iterable[CaseResult]) -> list[str]:
    """`sparse, approx (recall)`: the implementations of each semantics, with its name if it differs."""
    labels = collected((case.record.semantics, fmt.short_label(case.label)) for case in cases)
    groups = {semantics: list(dict.fromkeys(names)) for semantics, names in labels.items()}
    return [
        ", ".join(names) + ("" if names == [semantics] else f" ({semantics})")
        for semantics, names in groups.items()
    ]


def panel_finding(panel: SuiteResults) -> PanelFinding | None:
    """The finding of one panel's results; None if nothing was timed together with the baseline.

    Among several faster implementations, those with the baseline's semantics come first, then the fastest.
    Cases that failed their contract or a check are excluded.
    """
    findings = [finding for label in panel.implementations if (finding := finding_of(panel, label))]
    longest = max((finding.compared.seq for finding in findings), default=0)

    def rank(finding: PanelFinding) -> tuple[bool, bool, float]:
        return finding.compared.side > 0, finding.semantics is None, finding.compared.speedup or 0.0

    return max((f for f in findings if f.compared.seq == longest), key=rank, default=None)


def headline(findings: Sequence[PanelFinding]) -> str | None:
    """One sentence for all panels of a suite; None if their findings differ.

    `sparse beats dense in both panels: 1.9× to 2.4× at the longest length`
    """
    if len(findings) < 2:
        return next((finding.sentence() for finding in findings), None)
    subjects = {(finding.implementation, finding.baseline, finding.verdict) for finding in findings}
    if len(subjects) > 1 or findings[0].verdict in {UNDECIDED, DOUBTFUL}:
        return None
    first = findings[0]
    ordered = sorted(findings, key=lambda finding: finding.compared.speedup or 0.0)
    claim = {
        FASTER: f"{first.implementation} beats {first.baseline}",
        SLOWER: f"no implementation beats {first.baseline} ({first.implementation} is closest)",
        SAME: f"{first.implementation} and {first.baseline} take about the same time",
    }[first.verdict]
    remarks = " (not mathematically equivalent)" if first.semantics else ""
    spread = f"{ordered[0].ratio} to {ordered[-1].ratio} at the longest length"
    where = "both panels" if len(findings) == 2 else f"all {len(findings)} panels"
    return f"{claim} in {where}: {spread}{remarks}"


def _describe(series: Sequence[Comparison], semantics: str | None) -> PanelFinding:
    """The finding of one implementation's comparisons, shortest length first."""
    last = series[-1].side
    run = list(takewhile(lambda c: c.side == last, reversed(series)))[::-1]
    before = series[: len(series) - len(run)]
    decided = next((c for c in reversed(before) if c.side), None)
    certain = last == 0 or any(c.low is not None for c in run)
    verdict = {1: FASTER, -1: SLOWER}.get(last, _tie_verdict(series[-1:])) if certain else UNDECIDED
    blank = PanelFinding(series[-1], verdict, semantics=semantics)
    if not certain or (last == 0 and len({c.verdict for c in run}) > 1):
        return blank
    if not before:
        return replace(blank, everywhere=len(run) > 1)
    if decided is None:
        return replace(blank, before=(_tie_verdict(before), before[-1].seq))
    if (run[0].verdict, decided.verdict) == (FASTER, SLOWER):
        return replace(blank, faster_from=run[0].seq)
    bounded = decided.low is not None and run[0].low is not None
    if bounded and last <= 0 and all(c.side > 0 for c in series if c.seq <= decided.seq):
        return replace(blank, faster_until=decided.seq)
    return blank


def _tie_verdict(compared: Iterable[Comparison]) -> str:
    """SAME if all are about the same, DOUBTFUL if one is, else UNDECIDED; none is faster or slower."""
    verdicts = {c.verdict for c in compared}
    return SAME if verdicts == {SAME} else DOUBTFUL if DOUBTFUL in verdicts else UNDECIDED


def step_saving(panel: SuiteRecords, compared: Comparison) -> str:
    """`saves 1.9 ms [1.7, 2.1] per step of glm-5 at 64Ki on this machine (78 layers)`, for each model.

    Empty without a model, or if the comparison has no time. The interval is that of the baseline's time minus
    the case's, times the layers.
    """
    models = [model for model in panel.models if compared.case in model.cases]
    if not models or compared.per_step_s is None:
        return ""
    sentences: list[str] = []
    for model in models:
        scale = model.layers / models[0].layers
        saved, low, high = (
            None if bound is None else bound * scale
            for bound in (compared.per_step_s, compared.per_step_low_s, compared.per_step_high_s)
        )
        layers = f"{model.layers} layer{'s' if model.layers > 1 else ''}"
        step = f"per step of {model.label} at {format_count(compared.seq * model.tokens)} on this machine"
        sentences.append(f"{_describe_change(saved or 0.0, low, high, step, compared.doubtful)} ({layers})")
    return "; ".join(sentences)


def _describe_change(saved: float, low: float | None, high: float | None, step: str, doubtful: bool) -> str:
    """`saves 1.9 ms [1.7, 2.1] per step of m`, `no significant change per step of m: −0.1 ms [−0.3, 0.2]`."""
    if low is None or high is None:
        verb = "saves" if saved >= 0 else "adds"
        return f"{verb} {fmt.saved_time(abs(saved), None, None)} (no interval) {step}"
    if low <= 0 <= high or doubtful:
        return f"no significant change {step}: {fmt.saved_time(0 - saved, 0 - high, 0 - low)}"
    if saved > 0:
        return f"saves {fmt.saved_time(saved, low, high)} {step}"
    return f"adds {fmt.saved_time(-saved, -high, -low)} {step}"
