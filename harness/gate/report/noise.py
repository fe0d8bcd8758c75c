"""Tables of this machine's noise: per regime the spread of every case, and the Δ that a gate can promise."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from harness.core.units import format_seconds
from harness.gate.noise.detectable import DELTAS, MAX_PAIRS, PAIRS
from harness.gate.noise.measure import USUAL, Regime
from harness.gate.report.case_names import by_family, distinction, name_of
from harness.report.format import duration
from harness.report.tables.cells import Cell
from harness.report.tables.render import print_tables
from harness.report.tables.table_data import Column, TableData

_COLUMNS = (
    Column("case", right=False, folds=True),
    Column("a call"),
    Column("spread between pairs"),
    Column(f"holds, {MAX_PAIRS} pairs"),
    Column("pairs for 5 %"),
)


def print_noise(console: Console, regimes: Sequence[Regime]) -> None:
    """A table per regime, and below each the Δ that a gate can hold, with its price."""
    for regime in regimes:
        names = [name_of(spread.case) for spread in regime.spreads]
        families = by_family(names)
        rows = tuple(
            (
                Cell(f"{name.short} {distinction(name, families[name.family])}".rstrip()),
                Cell(format_seconds(spread.call_s, 2)),
                Cell(f"{100 * spread.spread:.2g} %"),
                Cell(_share(spread.smallest_delta)),
                Cell(str(spread.pairs_for(USUAL) or f"more than {MAX_PAIRS}")),
            )
            for spread, name in zip(regime.spreads, names, strict=True)
        )
        each = f"{PAIRS} pairs of processes for each of {len(rows)} cases"
        print_tables(console, TableData(f"{regime.name}: equal sides, {each}", _COLUMNS, rows))
        console.print(Text(promise(regime)), soft_wrap=True)
        console.print()


def promise(regime: Regime) -> str:
    """Which Δ a gate can hold in a regime, and at what cost in pairs and seconds."""
    delta = regime.held_delta
    if delta is None:
        return f"{regime.name}, no slowdown up to {_share(DELTAS[-1])} can be held; find what else runs here"
    pairs = max(
        (spread.pairs_for(delta) or 0 for spread in regime.spreads if (spread.smallest_delta or 1) <= delta),
        default=0,
    )
    claim = f"{regime.name}, a gate can hold {_share(delta)} for three quarters of these cases"
    price = (
        f"{pairs} pairs, about {duration(pairs * regime.pair_s)}, and as much again to confirm a suspicion"
    )
    return f"{claim}: {price}"


def _share(value: float | None) -> str:
    return f"> {100 * DELTAS[-1]:g} %" if value is None else f"{100 * value:g} %"
