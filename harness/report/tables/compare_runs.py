"""Tables of comparisons: two runs, two implementations, or one implementation on several machines."""

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.text import Text

from harness.analysis.compare_runs import Change
from harness.analysis.machine_speedups import MachineSpeedup, MachineSpeedups
from harness.analysis.stats import NO_INTERVAL, Estimate
from harness.core.fingerprint_identity import fingerprint_differences
from harness.core.grouped import grouped
from harness.core.median_interval import median
from harness.core.units import format_count
from harness.report import format as fmt
from harness.report.format import short_label
from harness.report.provenance import machine_label
from harness.report.tables.cells import ABSENT, Cell, sentences
from harness.report.tables.render import print_tables
from harness.report.tables.table_data import CASE, Column, TableData


def sides_tables(changes: Sequence[Change], of: str, to: str) -> list[TableData]:
    """A table of `changes` per panel; `of` and `to` are the names of the sides."""
    columns = (
        *CASE,
        Column(to, right=False, rank=1),
        Column(of, right=False, rank=1),
        Column(f"time, {of} / {to}", right=False),
        Column(f"{of} is", right=False),
    )
    panels = dict.fromkeys(change.panel for change in changes)
    return [_table(panel, columns, [c for c in changes if c.panel == panel]) for panel in panels]


def _table(panel: str, columns: tuple[Column, ...], changes: Sequence[Change]) -> TableData:
    rows = tuple((*_case_cells(change), *_ratio_cells(change)) for change in changes)
    return TableData(f"{changes[0].case.split('/', 1)[0]}: {panel}", columns, rows)


def _case_cells(change: Change) -> tuple[Cell, ...]:
    name = " / ".join(dict.fromkeys(map(short_label, (change.of, change.to))))
    return Cell(format_count(change.seq)), Cell(name), _time_cell(change.to_time), _time_cell(change.of_time)


def _time_cell(time: Estimate) -> Cell:
    """`1.42 ms [1.40, 1.45]`."""
    if time.value is None:
        return Cell(ABSENT)
    text, interval = fmt.seconds(time.value, time.low, time.high)
    return Cell(text if interval == ABSENT else f"{text} {interval}")


def _ratio_cells(change: Change) -> tuple[Cell, Cell]:
    value, low, high, *_ = change.ratio
    if value is None:
        return Cell(ABSENT, sentences(change.ratio.reason)), Cell("")
    text = fmt.speedup(value, low, high)
    why = f"no interval: {change.ratio.reason}" if low is None else None
    return Cell(text, sentences(why, *change.warnings)), Cell(change.reading)


POINT = (Column("panel", right=False), Column("seq"), Column("implementation", right=False, folds=True))


def answer_of(panel: Sequence[MachineSpeedups]) -> MachineSpeedups:
    """The comparison that represents a panel: the fastest at the longest length with the most machines.

    A faster implementation that is equivalent to the baseline comes first, as for a single run.
    """
    most = max(len(one.machines) for one in panel)
    candidates = [one for one in panel if len(one.machines) == most]
    longest = max(one.compared.seq for one in candidates)

    def rank(one: MachineSpeedups) -> tuple[bool, bool, float]:
        speedup = median([machine.speedup.value or 0.0 for machine in one.machines])
        return speedup > 1, not one.compared.other_semantics, speedup

    return max((one for one in candidates if one.compared.seq == longest), key=rank)


def by_panel(found: Iterable[MachineSpeedups]) -> dict[tuple[str, str], list[MachineSpeedups]]:
    """The comparisons grouped by suite and panel."""
    return grouped(found, lambda one: (one.suite, one.compared.panel))


def sentence(one: MachineSpeedups) -> str:
    """`sparse compared with dense at 8Ki: faster on 3 of 4 machines, undecided on 1; 1.00× to 2.60×`."""
    compared = one.compared
    sides = f"{short_label(compared.implementation)} compared with {short_label(compared.baseline or '')}"
    suffix = " (not mathematically equivalent)" if compared.other_semantics else ""
    return f"{sides}{suffix} at {format_count(compared.seq)}: {describe_verdicts(one)}"


def describe_verdicts(one: MachineSpeedups) -> str:
    """The number of machines with each verdict, and the lowest and highest speedup."""
    if len(one.machines) == 1:
        (machine,) = one.machines
        return f"on one machine only, {machine_name(machine)}: {_ratio(machine)}, {machine.verdict}"
    first, *others = one.verdicts.items()
    count = len(one.machines)
    all_of = f"{first[1]} of {count}" if others else "both" if count == 2 else f"all {count}"
    verdicts = [f"{first[0]} on {all_of} machines", *(f"{word} on {many}" for word, many in others)]
    valued = [machine for machine in one.machines if machine.speedup.value is not None]
    valued.sort(key=lambda machine: machine.speedup.value or 0.0)
    ends = dict.fromkeys(_ratio(valued[end]).partition(" ")[0] for end in (0, -1)) if valued else {}
    return "; ".join(filter(None, [", ".join(verdicts), " to ".join(ends)]))


def machine_name(machine: MachineSpeedup) -> str:
    """`1a2b3c4d (AMD EPYC, 2 threads)`."""
    return machine_label(machine.fingerprint, {"fingerprints": {machine.fingerprint: machine.facts}})


def _ratio(machine: MachineSpeedup) -> str:
    """`1.4× [1.3, 1.5]`, or why there is no value."""
    value, low, high, *_ = machine.speedup
    return machine.speedup.reason or NO_INTERVAL if value is None else fmt.speedup(value, low, high)


def print_machine_speedups(console: Console, found: Sequence[MachineSpeedups]) -> None:
    """Print a sentence per panel, then every machine's speedup at every point."""
    for panel in by_panel(found).values():
        console.print(Text(sentence(answer_of(panel)), style="bold"), soft_wrap=True)
    machines = {machine.fingerprint: machine for one in found for machine in one.machines}
    print_tables(console, _machines_table(found, machines))
    for line in _legend(list(machines.values())):
        console.print(Text(line), soft_wrap=True)


def _machines_table(found: Sequence[MachineSpeedups], fingerprints: Iterable[str]) -> TableData:
    short = {fingerprint: fingerprint.removeprefix("sha256:")[:8] for fingerprint in fingerprints}
    columns = (*POINT, *(Column(name, right=False) for name in short.values()))
    points = grouped(found, lambda one: (one.suite, one.compared.panel, one.compared.seq))
    sections = [
        (
            (f"{suite}: {panel}", format_count(seq)),
            [(short_label(one.compared.implementation), *_machine_cells(one, short)) for one in rows],
        )
        for (suite, panel, seq), rows in points.items()
    ]
    return TableData.of_sections("speedup over the baseline by machine, 95 % intervals", columns, sections)


def _machine_cells(one: MachineSpeedups, fingerprints: Iterable[str]) -> Iterator[Cell]:
    """The speedup on each machine; its notes say why it does not count or has no interval."""
    known = {machine.fingerprint: machine for machine in one.machines}
    for fingerprint in fingerprints:
        machine = known.get(fingerprint)
        if machine is None:
            yield Cell(ABSENT)
            continue
        text = ABSENT if machine.speedup.value is None else _ratio(machine)
        yield Cell(text, sentences(machine.reason or machine.compared.reason, *machine.compared.notes))


def _legend(machines: Sequence[MachineSpeedup]) -> Iterator[str]:
    """Every machine, with the facts in which it differs from the first one."""
    for machine in machines:
        unlike = fingerprint_differences(machines[0].facts, machine.facts)
        facts = ", ".join(f"{name} {_short(value)}, not {_short(first)}" for name, first, value in unlike)
        yield machine_name(machine) + (f": {facts}" if facts else "")


def _short(value: object) -> str:
    """A fact's value; for a list, such as a processor's features, only its length."""
    return f"({len(value)})" if isinstance(value, list) else str(value)
