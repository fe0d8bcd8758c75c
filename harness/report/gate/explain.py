"""Why one case has its verdict: the claim, the pairs it rests on, and what would settle an open one.

Everything is computed from the evidence given; nothing is measured here, and no clock is read.
"""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from harness.analysis.stats import PROCESSES
from harness.analysis.verdict import Verdict, judge
from harness.report.gate import words
from harness.report.gate.chart import LABELS, LEAST, WIDTH, Strip, strip_chart
from harness.report.gate.evidence import Evidence
from harness.report.gate.names import name_of
from harness.report.gate.pairs import lengths_table, pairs_tables
from harness.report.gate.table import STYLES
from harness.report.gate.wanting import wanting
from harness.report.render import print_tables
from harness.spec.gate import IMPROVED, NOT_ENOUGH, REGRESSED, UNCHANGED


def print_explanation(console: Console, evidence: Evidence) -> None:
    """The claim first, then its evidence: a chart, the pairs, other lengths, the compiler's figures."""
    case = evidence.verdict
    title = Text(evidence.case, style="bold").append(": ", style="not bold")
    console.print(title.append(words.in_words(case.verdict), style=STYLES[case.verdict]), soft_wrap=True)
    console.print(Text(words.plain(case.reason)))
    for line in claim(evidence):
        console.print(Text(line))
    console.print()
    if evidence.first:
        for line in chart(evidence, max(LEAST, min(WIDTH, console.width - LABELS))):
            console.print(Text(line), no_wrap=True, crop=False)
        console.print(Text(_legend(evidence), style="dim"))
        console.print()
    print_tables(console, *pairs_tables(evidence), lengths_table(evidence))
    for line in (*_isolated(evidence), *wanting(evidence), *_programs(evidence)):
        console.print(Text(line))
    for line in (*evidence.static, *(f"! {note}" for note in case.notes)):
        console.print(Text(words.plain(line), style="dim"))


def claim(evidence: Evidence) -> list[str]:
    """The mean and its bounds beside the two lines they are held against."""
    if not evidence.first:
        return ["nothing was timed, so there is no effect to explain"]
    margin = evidence.margin
    lines = [_bounds("first pairs", judge(evidence.first, margin))]
    if evidence.fresh:
        lines.append(_bounds("confirmation, fresh pairs", judge(evidence.fresh, margin)))
    limit, delta = words.percent(margin.least), words.percent(margin.excluded)
    said = {
        REGRESSED: f"regressed: the lower bound lies above {limit}, half of what is promised to be caught",
        IMPROVED: f"improved: the upper bound lies below {words.percent(-margin.least)}",
        UNCHANGED: f"unchanged: the upper bound lies below {delta}, so that slowdown is excluded",
        NOT_ENOUGH: f"open: neither does the lower bound lie above {limit} nor the upper one below {delta}",
    }
    found = judge(evidence.deciding, margin).verdict
    if evidence.verdict.verdict not in said:
        return lines
    if found != evidence.verdict.verdict:
        return [*lines, f"by these bounds alone: {said[found]}; the reason above says what outweighs them"]
    return [*lines, said[found]]


def _bounds(which: str, found: Verdict) -> str:
    count = f"{found.pairs} pair{'s' if found.pairs != 1 else ''}"
    mean = "" if found.effect is None else f"mean {words.percent(found.effect)}"
    if found.low is None or found.high is None:
        return f"{which}: {mean} over {count}; bounds need at least {PROCESSES} pairs"
    low, high = words.percent(found.low), words.percent(found.high)
    return f"{which}: {mean} over {count}; at least {low}, at most {high} (99 % each)"


def chart(evidence: Evidence, width: int = WIDTH) -> list[str]:
    """A dot per pair, the bounds as a bar below, and lines at nothing, Δ/2 and Δ."""
    margin = evidence.margin
    strips: list[Strip] = []
    for label, effects in (("first", evidence.first), ("confirmation", evidence.fresh)):
        if effects:
            strips += [Strip(label, effects), *_bar(judge(effects, margin))]
    marks = (("0", 0.0), ("½", margin.least), ("Δ", margin.excluded))
    return strip_chart(strips, marks, width)


def _legend(evidence: Evidence) -> str:
    limit, delta = words.percent(evidence.margin.least), words.percent(evidence.margin.excluded)
    return f"0 no difference, ½ {limit} (regressed: bar right of it), Δ {delta} (unchanged: bar left of it)"


def _bar(found: Verdict) -> list[Strip]:
    if found.low is None or found.effect is None or found.high is None:
        return []
    return [Strip("", bar=(found.low, found.effect, found.high))]


def _isolated(evidence: Evidence) -> list[str]:
    """A regression between two lengths without one is kept, and called what it is."""
    own = name_of(evidence.case).seq
    if own is None or evidence.verdict.verdict != REGRESSED:
        return []
    shorter = [length for length in evidence.neighbours if length[0] < own]
    longer = [length for length in evidence.neighbours if length[0] > own]
    if not shorter or not longer:
        return []
    beside = {max(shorter, key=_length)[1], min(longer, key=_length)[1]}
    if beside - {UNCHANGED, IMPROVED}:
        return []
    return ["isolated: the lengths beside it are not slower"]


def _length(neighbour: tuple[int, str, float | None]) -> int:
    return neighbour[0]


def _programs(evidence: Evidence) -> Sequence[str]:
    if evidence.same_program is None:
        return []
    if not evidence.same_program:
        return ["the compiler made different programs of the two sides"]
    doubt = "the compiler made the same program of both sides"
    return [f"{doubt}: a difference in time is the machine's" if evidence.verdict.effect else doubt]
