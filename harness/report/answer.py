"""The answer of a panel: sentences before its table on the fastest, the baseline, and what did not run.

Two cases are about the same if the interval of their ratio is close to 1, or if they run one program.
They are undecided if a wider interval contains 1, or without an interval if they dispatch the same operators.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from harness.analysis.results import HOST, StepModel
from harness.analysis.same_program import PROGRAM, same_kind
from harness.analysis.scaling import format_length
from harness.analysis.stats import (
    DOUBTFUL,
    FASTER,
    NO_INTERVAL,
    SAME,
    SLOWER,
    UNDECIDED,
    interval_verdict,
    ratio,
)
from harness.analysis.suite_results import CaseResult, SuiteResults
from harness.core.clocks import clock_of
from harness.core.grouped import collected, grouped
from harness.core.record import PLANNED, Record
from harness.core.remedy import remedy_of
from harness.core.units import format_count
from harness.report import format as fmt
from harness.report.finding import PanelFinding, baseline_semantics, by_meaning, finding_of, panel_finding
from harness.report.format import short_label, status_words

OTHER = "≠"
OTHER_CAPTION = (
    f"{OTHER}: not mathematically equivalent to the baseline. In parentheses: the fastest that is equivalent."
)
MOST_LENGTHS = 6
FAR_BELOW = 0.25  # a share of the bound below this is in the answer
_ORDER = (FASTER, SAME, UNDECIDED, DOUBTFUL, SLOWER)
_TIES = (SAME, UNDECIDED, DOUBTFUL)


def answer(panel: SuiteResults) -> list[str]:
    """Two to four sentences, and one for each model. If nothing was timed, only what was checked."""
    if not any(row.timed for row in panel.cases):
        return [sentence] if (sentence := _planned_sentence(panel)) else []
    sentences = (
        *(_fastest(panel), _doubt(panel), other_clocks(panel), _against_baseline(panel), _in_a_step(panel)),
        *(_far_sentence(panel), _not_equivalent(panel), _planned_sentence(panel), _not_run(panel)),
        *map(describe_model, panel.models_here),
    )
    return [sentence for sentence in sentences if sentence]


def winner_line(panel: SuiteResults) -> str:
    """`Fastest per length: 1Ki dense; 4Ki undecided: dense or sparse≠; 16Ki–64Ki sparse≠ (dense).`"""
    by_length = _correct(panel)
    winners = [(seq, text) for seq in sorted(by_length) if (text := _winner(panel, by_length[seq]))]
    entries: list[str] = []
    for text, group in groupby(winners, key=lambda entry: entry[1]):
        entries.append(f"{_range([seq for seq, _ in group])} {text}")
    return f"Fastest per length: {'; '.join(entries)}." if entries else ""


def _winner(panel: SuiteResults, rows: Sequence[CaseResult]) -> str:
    place = {label: number for number, label in enumerate(panel.implementations)}
    own = [row for row in rows if _is_equivalent(panel, row)]
    same, undecided, word = _winners(rows)
    same, undecided = (sorted(group, key=lambda row: place[row.label]) for group in (same, undecided))
    groups = sorted([same, *([row] for row in undecided)], key=lambda group: place[group[0].label])
    names = (" ≈ ".join(short_label(row.label) + OTHER * (row not in own) for row in g) for g in groups)
    suffix = f" ({short_label(own[0].label)})" if own and not any(r in own for g in groups for r in g) else ""
    return f"{f'{word}: ' if undecided else ''}{' or '.join(names)}{suffix}"


def _correct(panel: SuiteResults) -> dict[int, list[CaseResult]]:
    """Length → the cases timed by the panel's clock with the expected correctness, fastest first."""
    clock = _clock(panel)
    timed = (row for row in panel.cases if (time := row.record.timing) and clock_of(time.method) == clock)
    correct = (row for row in timed if not row.records.unexpected)
    return grouped(sorted(correct, key=lambda row: row.time.value or 0.0), lambda row: row.seq)


def _clock(panel: SuiteResults) -> str:
    """The clock that timed most cases; on a tie the baseline's. Only its times are ranked."""
    rows = sorted(panel.cases, key=lambda row: row.label != panel.baseline)
    clocks = Counter(clock_of(time.method) for row in rows if (time := row.record.timing))
    return next((clock for clock, _ in clocks.most_common(1)), "")


def other_clocks(panel: SuiteResults) -> str:
    """`Not ranked: exact, timed by the host clock (the others: device clock).`, or empty with one clock."""
    clock, timed = _clock(panel), ((row.label, row.record.timing) for row in panel.cases)
    clocks = ((short_label(name), clock_of(time.method)) for name, time in timed if time)
    others = {name: own for name, own in clocks if own != clock}
    by = f"by the {' and '.join(dict.fromkeys(others.values()))} clock (the others: {clock} clock)"
    return f"Not ranked: {_list([*others])}, timed {by}." if others else ""


def _doubt(panel: SuiteResults) -> str:
    """The lengths at which other programs used the processor, and what to do."""
    lengths = {row.seq for row in panel.cases if (time := row.record.timing) and time.was_queued}
    if not lengths:
        return ""
    return (
        f"Doubtful at {_name_lengths(sorted(lengths))}: other programs used the processor during timing. "
        "Measure again on a quiet machine."
    )


def _is_equivalent(panel: SuiteResults, row: CaseResult) -> bool:
    return baseline_semantics(panel) in {None, row.record.semantics}


def _winners(rows: Sequence[CaseResult]) -> tuple[list[CaseResult], list[CaseResult], str]:
    """(the fastest of one length's sorted cases and those about as fast; undecided ones; their verdict)."""
    verdicts = [SAME if row is rows[0] else _tie(row, rows[0]) for row in rows]
    paired = list(zip(rows, verdicts, strict=True))
    undecided = [row for row, word in paired if word in {UNDECIDED, DOUBTFUL}]
    word = DOUBTFUL if DOUBTFUL in verdicts else UNDECIDED
    return [row for row, word in paired if word == SAME], undecided, word


def _tie(row: CaseResult, best: CaseResult) -> str:
    """SAME, UNDECIDED or DOUBTFUL if a case may be as fast as another one; otherwise empty."""
    pairs = ((row.compared, best), (best.compared, row))
    compared = next((found for found, base in pairs if found and found.baseline == base.label), None)
    kind = same_kind(row.records, best.records, target=HOST)
    if kind == PROGRAM:
        return SAME
    # These verdicts are symmetric, so a known comparison in either direction serves.
    verdict = compared.verdict if compared else interval_verdict(ratio(row.records, best.records))
    if verdict == NO_INTERVAL:
        return UNDECIDED if kind else ""
    return verdict if verdict in _TIES else ""


def _fastest(panel: SuiteResults) -> str:
    """The fastest at the longest timed length, among cases equivalent to the baseline if there are any."""
    at = max(row.seq for row in panel.cases if row.timed)
    rows = _correct(panel).get(at, [])
    if not rows:
        failed = all(row.records.unexpected for row in panel.cases if row.timed and row.seq == at)
        return f"At {format_count(at)} every timed implementation failed its correctness check." * failed
    longest = max(row.seq for row in panel.cases)
    beyond = "" if at == longest else f" (nothing was timed at {format_count(longest)})"
    same, undecided, word = _winners([row for row in rows if _is_equivalent(panel, row)] or rows)
    winners = [*same, *undecided]
    text = f"Fastest at {format_count(at)}{beyond}: {_name_winners(same, undecided, word)}"
    text += f", {_time(winners[0])}{_margin(panel, rows, winners)}."
    faster = [row for row in rows[: rows.index(winners[0])] if not _tie(row, winners[0])]
    if faster:
        name, gain = short_label(faster[0].label), _gain(faster[0], winners[0])
        text += f" Faster but not mathematically equivalent: {name}, {gain}."
    return text


def far_from_bound(panel: SuiteResults) -> CaseResult | None:
    """The case with the lowest share of its bound at the longest timed length on a GPU, if that is low."""
    at = max((row.seq for row in panel.cases if row.timed), default=0)
    rows = (row for row in _correct(panel).get(at, []) if row.record.device == "cuda")
    return min((row for row in rows if 0 < row.share < FAR_BELOW), key=lambda row: row.share, default=None)


def _far_sentence(panel: SuiteResults) -> str:
    """`sparse reaches 9 % of its bound at 64Ki (compute).`, with what its plan says about it."""
    row = far_from_bound(panel)
    if row is None or row.roof is None:
        return ""
    reached = f"{short_label(row.label)} reaches {fmt.percent(row.share)} of its bound"
    return f"{reached} at {format_count(row.seq)} ({row.roof.word}){row.roof.why and f': {row.roof.why}'}."


def _name_winners(same: Sequence[CaseResult], undecided: Sequence[CaseResult], word: str) -> str:
    """`a and b (about the same) or c (undecided)`."""
    tied, others = ([short_label(row.label) for row in rows] for rows in (same, undecided))
    text = f"{_list(tied)} ({SAME})" if len(tied) > 1 else tied[0]
    return f"{text} or {_list(others, 'or')} ({word})" if others else text


def _margin(panel: SuiteResults, rows: Sequence[CaseResult], winners: Sequence[CaseResult]) -> str:
    """The speedup over the baseline, or over the next one if the baseline is fastest or did not run."""
    base = next((row for row in rows if row.label == panel.baseline), None)
    if base is None or base in winners:
        slower = rows[rows.index(winners[0]) + 1 :]
        base = next((row for row in slower if not _tie(row, winners[0])), None)
    return f", {_gain(winners[0], base)}" if base else ""


def _time(row: CaseResult) -> str:
    """`16.4 ms [15.9, 17.0]`."""
    text, interval = fmt.seconds(row.time.value or 0.0, row.time.low, row.time.high)
    return f"{text} {'(no interval)' if row.time.low is None else interval}"


def _gain(row: CaseResult, over: CaseResult) -> str:
    """`2.42× [2.32, 2.49] as fast as dense`: from the rounds that both have."""
    times, name = ratio(over.records, row.records), short_label(over.label)
    if times.value is None:
        return f"not comparable with {name}"
    bounds = "" if times.low is not None else " (no interval)"
    return f"{fmt.speedup(times.value, times.low, times.high)} as fast as {name}{bounds}"


def _against_baseline(panel: SuiteResults) -> str:
    """`Compared with dense: sparse is faster from 16Ki (crossover near 6.99Ki); naive is slower at 16Ki.`"""
    if panel.baseline not in panel.implementations and len(panel.implementations) > 1:
        missing = (
            f"the baseline {short_label(panel.baseline)} was not run" if panel.baseline else "no baseline"
        )
        other = short_label(panel.implementations[0])
        return f"No speedups: {missing}. Choose one, for example with --baseline {other}."
    crossings = {crossover.implementation: crossover.interpolated for crossover in panel.crossovers}
    labels_by_finding = collected(
        (_verdict_and_place(finding, crossings.get(label)), short_label(label))
        for label in panel.implementations
        if (finding := finding_of(panel, label)) is not None
    )
    if not labels_by_finding:
        return ""
    found = sorted(labels_by_finding, key=lambda finding: _ORDER.index(finding[0]))
    groups = [_clause(*each, labels_by_finding[each]) for each in found]
    return f"Compared with {short_label(panel.baseline)}: {'; '.join(groups)}."


def _clause(verdict: str, place: str, names: Sequence[str]) -> str:
    """`a and b are faster from 16Ki`, `undecided for c at 16Ki`."""
    if verdict in {UNDECIDED, DOUBTFUL}:
        return f"{verdict} for {_list(names)} {place}".rstrip()
    return f"{_list(names)} {'is' if len(names) == 1 else 'are'} {verdict} {place}".rstrip()


def describe_finding(finding: PanelFinding, crossing: float | None) -> str:
    """The finding in short: `faster from 16Ki (crossover near 6.99Ki)`, with the crossover if it is known."""
    return " ".join(_verdict_and_place(finding, crossing)).rstrip()


def _verdict_and_place(finding: PanelFinding, crossing: float | None) -> tuple[str, str]:
    """(`faster`, `from 16Ki (crossover near 6.99Ki)`): the finding's verdict, and where it holds."""
    about = f" (crossover near {format_length(crossing)})" if crossing is not None else ""
    at, verdict = format_count(finding.compared.seq), finding.verdict
    if finding.tendency:
        word, rounds = finding.tendency
        return word, f"{rounds}, too few for an interval"
    if finding.faster_from is not None:
        return FASTER, f"from {format_count(finding.faster_from)}{about}"
    if finding.faster_until is not None:
        return FASTER, f"up to {format_count(finding.faster_until)}{about}"
    if verdict in _TIES:
        without = verdict == UNDECIDED and finding.compared.low is None
        return verdict, "" if finding.everywhere or without else f"at {at}"
    if finding.before:
        return finding.before[0], f"up to {format_count(finding.before[1])}, then {verdict}"
    return verdict, f"at every length up to {at}" if finding.everywhere else f"at {at}"


def _in_a_step(panel: SuiteResults) -> str:
    """The time that the panel's finding saves per step of its models."""
    finding = panel_finding(panel) if panel.models_here else None
    return f"{finding.implementation}: {finding.step}." if finding and finding.step else ""


def describe_model(model: StepModel) -> str:
    """The source of a model's fields, and how the cases differ from the model's calls."""
    return f"Source of the fields of {model.label}: {model.origin}{'; ' + model.note if model.note else ''}."


def _not_equivalent(panel: SuiteResults) -> str:
    """The implementations with other semantics than the baseline's."""
    semantics = baseline_semantics(panel)
    names = by_meaning(row for row in panel.cases if semantics not in {None, row.record.semantics})
    base = short_label(panel.baseline)
    return f"Not mathematically equivalent to {base}: {', '.join(names)}." if names else ""


def _planned_sentence(panel: SuiteResults) -> str:
    """`Not timed here: triton_flash at 1Ki, 4Ki (correct in an interpreter); dense at 64Ki (not checked).`"""
    planned = [row for row in panel.cases if row.record.status == PLANNED]
    cases = collected(
        ((row.record.correctness is not None, short_label(row.label)), row.seq) for row in planned
    )
    texts = [
        f"{label} at {_name_lengths(lengths)} ({'correct in an interpreter' if judged else 'not checked'})"
        for (judged, label), lengths in cases.items()
    ]
    return f"Not timed here: {'; '.join(texts)}." if texts else ""


def _not_run(panel: SuiteResults) -> str:
    """`Not run: dense at 64Ki (skipped: raise --budget).`: what was not timed, why, and a flag to change."""
    lengths = collected(
        ((_cause(row.failed), short_label(row.label)), row.seq)
        for row in panel.cases
        if row.failed is not None
        and row.time.value is None
        and row.failed.status not in {"incorrect", PLANNED}
    )
    causes = collected((cause, f"{label} at {_name_lengths(at)}") for (cause, label), at in lengths.items())
    texts = [f"{', '.join(cases)} ({cause})" for cause, cases in causes.items()]
    return f"Not run: {'; '.join(texts)}." if texts else ""


def _cause(failed: Record) -> str:
    """`out of memory: raise --memory`."""
    return ": ".join(filter(None, (status_words(failed.status), remedy_of(failed))))


def _name_lengths(lengths: Sequence[int]) -> str:
    """Every length; if there are more than MOST_LENGTHS, their number, the first and the last."""
    if len(lengths) <= MOST_LENGTHS:
        return ", ".join(map(format_count, lengths))
    return f"{len(lengths)} lengths from {format_count(min(lengths))} to {format_count(max(lengths))}"


def _range(lengths: Sequence[int]) -> str:
    first, last = format_count(lengths[0]), format_count(lengths[-1])
    return first if first == last else f"{first}–{last}"


def _list(names: Sequence[str], last: str = "and") -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"
