"""A comparison on several machines: a sentence for each panel, then one table with a column per machine."""

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.text import Text

from harness.analysis.machine_speedups import MachineSpeedup, MachineSpeedups
from harness.analysis.stats import NO_INTERVAL
from harness.core.fingerprint_identity import fingerprint_differences
from harness.core.grouped import grouped
from harness.core.median_interval import median
from harness.core.units import format_count
from harness.report import format as fmt
from harness.report.format import short_label
from harness.report.provenance import machine_label
from harness.report.tables.cells import ABSENT, Cell, sentences
from harness.report.tables.render import print_tables
from harness.report.tables.table_data import Column, TableData

POINT = (Column("panel", right=False), Column("seq"), Column("implementation", right=False, folds=True))


def answer_of(panel: Sequence[MachineSpeedups]) -> MachineSpeedups:
    """The comparison that represents a panel: the fastest at the longest length that most machines have.

    As in the answer of a single run, one that is faster and is equivalent to the baseline comes first.
    """
    most = max(len(one.machines) for one in panel)
    candidates = [one for one in panel if len(one.machines) == most]
    longest = max(one.compared.seq for one in candidates)

    def rank(one: MachineSpeedups) -> tuple[bool, bool, float]:
        speedup = median([machine.speedup.value or 0.0 for machine in one.machines])
        return speedup > 1, not one.compared.other_semantics, speedup

    return max((one for one in candidates if one.compared.seq == longest), key=rank)


def by_panel(found: Iterable[MachineSpeedups]) -> dict[tuple[str, str], list[MachineSpeedups]]:
    """The comparisons by suite and panel, in their order."""
    return grouped(found, lambda one: (one.suite, one.compared.panel))


def sentence(one: MachineSpeedups) -> str:
    """`sparse against dense at 8Ki: faster on 3 of 4 machines, about the same on 1; 1.00× to 2.60×`."""
    compared = one.compared
    sides = f"{short_label(compared.implementation)} against {short_label(compared.baseline or '')}"
    aside = " (not mathematically equivalent)" if compared.other_semantics else ""
    return f"{sides}{aside} at {format_count(compared.seq)}: {describe_verdicts(one)}"


def describe_verdicts(one: MachineSpeedups) -> str:
    """On how many machines each verdict holds, and the lowest and highest speedup."""
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
    """`1.4× [1.3, 1.5]`, or why there is no number."""
    value, low, high, *_ = machine.speedup
    return machine.speedup.reason or NO_INTERVAL if value is None else fmt.speedup(value, low, high)


def print_machine_speedups(console: Console, found: Sequence[MachineSpeedups]) -> None:
    """Print per panel the answer in a sentence, then every machine's speedup at every point."""
    for panel in by_panel(found).values():
        console.print(Text(sentence(answer_of(panel)), style="bold"), soft_wrap=True)
    machines = {machine.fingerprint: machine for one in found for machine in one.machines}
    print_tables(console, _table(found, machines))
    for line in _legend(list(machines.values())):
        console.print(Text(line), soft_wrap=True)


def _table(found: Sequence[MachineSpeedups], fingerprints: Iterable[str]) -> TableData:
    short = {fingerprint: fingerprint.removeprefix("sha256:")[:8] for fingerprint in fingerprints}
    columns = (*POINT, *(Column(name, right=False) for name in short.values()))
    sections = [
        (
            (f"{suite}: {panel}", format_count(seq)),
            [(short_label(one.compared.implementation), *_cells(one, short)) for one in rows],
        )
        for (suite, panel, seq), rows in grouped(
            found, lambda one: (one.suite, one.compared.panel, one.compared.seq)
        ).items()
    ]
    return TableData.of_sections("speedup over the baseline by machine, 95 %", columns, sections)


def _cells(one: MachineSpeedups, fingerprints: Iterable[str]) -> Iterator[Cell]:
    """The speedup on each machine, with why it does not count, or has no interval, and its notes."""
    known = {machine.fingerprint: machine for machine in one.machines}
    for fingerprint in fingerprints:
        machine = known.get(fingerprint)
        if machine is None:
            yield Cell(ABSENT)
            continue
        text = ABSENT if machine.speedup.value is None else _ratio(machine)
        yield Cell(text, sentences(machine.reason or machine.compared.reason, *machine.compared.notes))


def _legend(machines: Sequence[MachineSpeedup]) -> Iterator[str]:
    """Every machine once, with the facts and values in which it differs from the first."""
    for machine in machines:
        unlike = list(fingerprint_differences(machines[0].facts, machine.facts))
        facts = ", ".join(f"{name} {_short(value)}, not {_short(first)}" for name, first, value in unlike)
        yield machine_name(machine) + (f": {facts}" if facts else "")


def _short(value: object) -> str:
    """A fact's value; of a list, such as a processor's features, its length."""
    return f"({len(value)})" if isinstance(value, list) else str(value)
