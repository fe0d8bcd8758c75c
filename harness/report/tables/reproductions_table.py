"""A comparison on several machines, in a sentence and a table: which agree, on what, and how others differ.

The table has a line per machine, and one per run where a machine has several.
"""

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.text import Text

from harness.analysis.reproduction import MachineRatio, Replication, Reproduction, kinds
from harness.analysis.stats import NO_INTERVAL
from harness.core.fingerprint_identity import cache_texts, fingerprint_differences
from harness.core.grouped import grouped
from harness.core.median_interval import median
from harness.core.units import format_count
from harness.report import format as fmt
from harness.report.format import short_label
from harness.report.provenance import machine_label
from harness.report.tables.cells import ABSENT, Cell, sentences
from harness.report.tables.render import print_tables
from harness.report.tables.table_data import CASE, Column, TableData

MOST_FACTS = 4  # in a sentence; the table and --json have all
RULE = (
    "Machines agree where their verdicts are the same and their intervals do not show that the speedups "
    "differ by more than a factor of 1.25. No interval is over two fingerprints; runs on one are "
    "replications on the same machine, which has one voice."
)
COLUMNS = (
    *CASE,
    Column("machine", right=False),
    Column("run", right=False, rank=2),
    Column("speedup, 95 %", right=False),
    Column("verdict", right=False),
    Column("agrees", right=False),
)


def answer_of(panel: Sequence[Reproduction]) -> Reproduction:
    """The comparison that stands for a panel: the fastest at the longest length that most machines have.

    As in the answer of a single run, one that is faster and is equivalent to the baseline comes first.
    """
    most = max(len(r.machines) for r in panel)
    candidates = [r for r in panel if len(r.machines) == most]
    longest = max(r.seq for r in candidates)

    def rank(reproduction: Reproduction) -> tuple[bool, bool, float]:
        speedup = median([machine.speedup.value or 0.0 for machine in reproduction.machines])
        return speedup > 1, not reproduction.other_semantics, speedup

    return max((r for r in candidates if r.seq == longest), key=rank)


def by_panel(reproductions: Iterable[Reproduction]) -> dict[tuple[str, str], list[Reproduction]]:
    """The comparisons by suite and panel, in their order."""
    return grouped(reproductions, lambda r: (r.suite, r.panel))


def sentence(reproduction: Reproduction) -> str:
    """`sparse against dense at 8Ki: 3 of 4 independent machines agree: faster, 2.2–2.6×; …`."""
    sides = f"{short_label(reproduction.implementation)} against {short_label(reproduction.baseline)}"
    aside = " (not mathematically equivalent)" if reproduction.other_semantics else ""
    return f"{sides}{aside} at {format_count(reproduction.seq)}: {agreement(reproduction)}"


def agreement(reproduction: Reproduction) -> str:
    """How many machines agree, on what, and what sets each of the others apart."""
    machines, agreeing = reproduction.machines, reproduction.agreeing
    if len(machines) == 1:
        return f"on one machine only, {machine_name(machines[0])}: {_state_ratio(machines[0])}"
    count = kinds(machines)
    sort = "independent machines" if count == len(machines) else f"fingerprints of {_kinds(count)}"
    if len(agreeing) > 1:
        many = f"{len(agreeing)} of {len(machines)}"
        if len(agreeing) == len(machines):
            many = "both" if len(machines) == 2 else f"all {len(machines)}"
        head = f"{many} {sort} agree: {agreeing[0].verdict}, {_range(agreeing)}"
    else:
        whose = "only one has a verdict" if agreeing else "no majority agrees"
        head = f"of {len(machines)} {sort} {whose}"
    others = machines if len(agreeing) < 2 else [m for m in machines if m not in agreeing]
    return "; ".join(
        [head, *(f"{machine_name(m)}{_unlike(reproduction, m)}: {_state_ratio(m)}" for m in others)]
    )


def _kinds(count: int) -> str:
    return "one kind of hardware" if count == 1 else f"{count} kinds of hardware"


def machine_name(machine: MachineRatio) -> str:
    """`1a2b3c4d (AMD EPYC, 2 threads)`."""
    return machine_label(machine.fingerprint, {"fingerprints": {machine.fingerprint: machine.facts}})


def _unlike(reproduction: Reproduction, machine: MachineRatio) -> str:
    """`, which differs in L2 1 MiB against 2 MiB, threads`."""
    if not machine.facts:
        return ", whose facts were not kept"
    names = reproduction.sets_apart(machine)
    if machine in reproduction.agreeing or not names:
        return ""
    said = [_sizes(reproduction, machine, name) or name for name in names[:MOST_FACTS]]
    more = f" and {len(names) - MOST_FACTS} more facts" if len(names) > MOST_FACTS else ""
    return f", which differs in {', '.join(said)}{more}"


def _sizes(reproduction: Reproduction, machine: MachineRatio, name: str) -> str | None:
    """`L2 1 MiB against 2 MiB`: a cache's size here, and on the machines that agree, else on all others."""
    own = cache_texts(machine.facts).get(name)
    others = [other for other in reproduction.agreeing or reproduction.machines if other is not machine]
    theirs = sorted({cache_texts(other.facts).get(name, "") for other in others})
    return f"{name} {own} against {' and '.join(theirs)}" if own else None


def _state_ratio(machine: MachineRatio) -> str:
    """`1.4× [1.3, 1.5], slower`, or why there is no number."""
    value, low, high, *_ = machine.speedup
    if value is None:
        return machine.speedup.reason or NO_INTERVAL
    return f"{fmt.speedup(value, low, high)}, {machine.verdict}"


def _range(machines: Sequence[MachineRatio]) -> str:
    """`2.2–2.6×`: the lowest and the highest speedup, with no more digits than both intervals support;
    `≈2–3×` where one of these is vague.
    """
    values = sorted((m.speedup.value or 1.0, m.speedup.low, m.speedup.high) for m in machines)
    ends = values[0], values[-1]
    known = [(low, high) for _, low, high in ends if low is not None and high is not None]
    vague = any(fmt.is_vague(low, high) for low, high in known)
    count = 1 if vague else min(3, *(fmt.digits(*end) for end in ends))
    low, high = (fmt.significant(end[0], count) for end in ends)
    return ("≈" if vague else "") + (f"{low}×" if low == high else f"{low}–{high}×")


def print_reproductions(console: Console, reproductions: Sequence[Reproduction]) -> None:
    """Print per panel the answer in a sentence, then every machine's speedup at every point."""
    for panel in by_panel(reproductions).values():
        console.print(Text(sentence(answer_of(panel)), style="bold"), soft_wrap=True)
        print_tables(console, _table(panel))
    for line in (*_legend(reproductions), RULE):
        console.print(Text(line), soft_wrap=True)


def _legend(reproductions: Sequence[Reproduction]) -> Iterator[str]:
    """Every machine once, with the facts and values in which it differs from the first."""
    known = {(machine.fingerprint, machine.caches): machine for r in reproductions for machine in r.machines}
    machines = list(known.values())
    for machine in machines:
        unlike = list(fingerprint_differences(machines[0].facts, machine.facts))
        facts = ", ".join(f"{name} {_short(value)}, not {_short(first)}" for name, first, value in unlike)
        yield machine_name(machine) + (f": {facts}" if facts else "")


def _short(value: object) -> str:
    """A fact's value; of a list, such as a processor's features, its length."""
    return f"({len(value)})" if isinstance(value, list) else str(value)


def _table(panel: Sequence[Reproduction]) -> TableData:
    sections = [
        (
            (format_count(r.seq), f"{short_label(r.implementation)} / {short_label(r.baseline)}"),
            [cells for machine in r.machines for cells in _machine_rows(r, machine)],
        )
        for r in panel
    ]
    return TableData.of_sections(f"{panel[0].suite}: {panel[0].panel}", COLUMNS, sections)


def _machine_rows(reproduction: Reproduction, machine: MachineRatio) -> Iterator[tuple[Cell | str, ...]]:
    value, low, high, *_ = machine.speedup
    runs = machine.replications
    agrees = "yes" if machine in reproduction.agreeing else "no" if machine.decided else ABSENT
    text = ABSENT if value is None else fmt.speedup(value, low, high)
    whole = Cell(text, _why(runs[0]) if len(runs) == 1 else ())
    over = runs[0].run if len(runs) == 1 else f"{len(runs)} runs, on the same machine"
    yield machine_name(machine).partition(" ")[0], over, whole, machine.verdict, agrees
    for replication in runs if len(runs) > 1 else ():
        compared = replication.compared
        text = ABSENT
        if compared.speedup is not None:
            text = fmt.speedup(compared.speedup, compared.low, compared.high)
        yield "", f"  {replication.run}", Cell(text, _why(replication)), "replication", ""


def _why(replication: Replication) -> tuple[str, ...]:
    """Why a replication does not count, or has no interval, and the notes on it."""
    return sentences(replication.reason or replication.compared.reason, *replication.compared.notes)
