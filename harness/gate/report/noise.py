"""This machine's noise for people: per regime the spread of every case, and what a gate can promise."""

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.core.units import format_seconds
from harness.gate.noise.detectable import DELTAS, MOST
from harness.gate.noise.measure import USUAL, Regime
from harness.gate.report.case_names import by_family, distinction, name_of
from harness.report.format import duration


def print_noise(console: Console, regimes: Sequence[Regime]) -> None:
    """A table per regime, and below each the Δ that a gate can hold, with its price."""
    for regime in regimes:
        console.print(Text(f"{regime.name}: equal sides, {_count(regime)}", style="bold"))
        table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
        for title in ("case", "a call", "spread between pairs", f"holds, {MOST} pairs", "pairs for 5 %"):
            table.add_column(title, justify="left" if title == "case" else "right", overflow="fold")
        names = [name_of(spread.case) for spread in regime.spreads]
        families = by_family(names)
        for spread, name in zip(regime.spreads, names, strict=True):
            table.add_row(
                f"{name.short} {distinction(name, families[name.family])}".rstrip(),
                format_seconds(spread.call_s, 2),
                f"{100 * spread.spread:.2g} %",
                _share(spread.holds),
                str(spread.pairs_for(USUAL) or f"more than {MOST}"),
            )
        console.print(table)
        console.print(Text(promise(regime)), soft_wrap=True)
        console.print()


def promise(regime: Regime) -> str:
    """Which Δ a gate can hold in a regime, and at what cost in pairs and seconds."""
    delta = regime.holds
    if delta is None:
        return f"{regime.name}, no slowdown up to {_share(DELTAS[-1])} can be held; find what else runs here"
    pairs = max(
        (spread.pairs_for(delta) or 0 for spread in regime.spreads if (spread.holds or 1) <= delta), default=0
    )
    claim = f"{regime.name}, a gate can hold {_share(delta)} for three quarters of these cases"
    price = (
        f"{pairs} pairs, about {duration(pairs * regime.pair_s)}, and as much again to confirm a suspicion"
    )
    return f"{claim}: {price}"


def _count(regime: Regime) -> str:
    pairs = len(regime.spreads[0].effects) if regime.spreads else 0
    return f"{pairs} pairs of processes for each of {len(regime.spreads)} cases"


def _share(value: float | None) -> str:
    return f"> {100 * DELTAS[-1]:g} %" if value is None else f"{100 * value:g} %"
