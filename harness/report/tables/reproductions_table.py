"""The table of a comparison on several machines: a line per machine, and one per run where it has several."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from harness.analysis.reproduction import MachineRatio, Replication, Reproduction
from harness.core.fingerprint_identity import fingerprint_differences
from harness.core.units import format_count
from harness.report import format as fmt
from harness.report.agreement import RULE, answer_of, by_panel, name_of, sentence
from harness.report.format import short_label
from harness.report.tables.cells import ABSENT, Cell, sentences
from harness.report.tables.render import print_tables
from harness.report.tables.table_data import Column, TableData

COLUMNS = (
    Column("seq"),
    Column("implementation", right=False, folds=True),
    Column("machine", right=False),
    Column("run", right=False, rank=2),
    Column("speedup, 95 %", right=False),
    Column("verdict", right=False),
    Column("agrees", right=False),
)


def print_reproductions(console: Console, found: Sequence[Reproduction]) -> None:
    """Per panel the answer in a sentence, then what every machine says at every point."""
    for panel in by_panel(found).values():
        console.print(Text(sentence(answer_of(panel)), style="bold"), soft_wrap=True)
        print_tables(console, _table(panel))
    for line in (*_legend(found), RULE):
        console.print(Text(line), soft_wrap=True)


def _legend(found: Sequence[Reproduction]) -> Iterator[str]:
    """Every machine once, with the facts and values in which it differs from the first."""
    known = {(machine.fingerprint, machine.caches): machine for one in found for machine in one.machines}
    machines = list(known.values())
    for machine in machines:
        unlike = list(fingerprint_differences(machines[0].facts, machine.facts))
        facts = ", ".join(f"{name} {_short(value)}, not {_short(first)}" for name, first, value in unlike)
        yield name_of(machine) + (f": {facts}" if facts else "")


def _short(value: object) -> str:
    """A fact's value; of a list, such as a processor's features, how many it has."""
    return f"({len(value)})" if isinstance(value, list) else str(value)


def _table(panel: Sequence[Reproduction]) -> TableData:
    sections = [
        (
            (format_count(found.seq), f"{short_label(found.implementation)} / {short_label(found.baseline)}"),
            [cells for machine in found.machines for cells in _machine_rows(found, machine)],
        )
        for found in panel
    ]
    return TableData.of_sections(f"{panel[0].suite}: {panel[0].panel}", COLUMNS, sections)


def _machine_rows(found: Reproduction, machine: MachineRatio) -> Iterator[tuple[Cell | str, ...]]:
    value, low, high, *_ = machine.speedup
    runs = machine.replications
    agrees = "yes" if machine in found.agreeing else "no" if machine.decided else ABSENT
    text = ABSENT if value is None else fmt.speedup(value, low, high)
    whole = Cell(text, _why(runs[0]) if len(runs) == 1 else ())
    over = runs[0].run if len(runs) == 1 else f"{len(runs)} runs, on the same machine"
    yield name_of(machine).partition(" ")[0], over, whole, machine.verdict, agrees
    for one in runs if len(runs) > 1 else ():
        speedup = one.compared.speedup
        text = ABSENT if speedup is None else fmt.speedup(speedup, one.compared.low, one.compared.high)
        yield "", f"  {one.run}", Cell(text, _why(one)), "replication", ""


def _why(one: Replication) -> tuple[str, ...]:
    """Why it does not count, or has no interval, and what a reader must know of it."""
    return sentences(one.reason or one.compared.reason, *one.compared.notes)
