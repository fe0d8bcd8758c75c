"""What a suite says to a gate: the slowdown that it is to catch (`delta`) and the changes that are meant
(`accept`).

delta: 5%
accept:
  mask/scatter@*: writes rows whole, for the sake of TPUs   # every figure of these cases
  "topk/two_stage[buckets=64,keep=2]@*":                    # this figure only; brackets need quotes
    temp_bytes: keeps both stages' candidates
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from harness.core.errors import UsageError, nearest
from harness.core.patterns import matches
from harness.core.static_figures import EXACT_FIGURES
from harness.core.units import parse_share
from harness.sweep.yaml.nodes import Entry, Node, Scalar, YamlMapping, at, scalar, table

FIGURES = ("time", *EXACT_FIGURES, "custom_calls", "contract", "exponent")


@dataclass(frozen=True)
class Accept:
    """A change that is meant. `pattern` is an id or a glob; `figure` None stands for every figure."""

    where: str
    pattern: str
    figure: str | None
    reason: str


@dataclass(frozen=True)
class GateMargins:
    """`delta`: the smallest slowdown promised to be caught, as a share; None where the suite has none."""

    delta: float | None = None
    accept: tuple[Accept, ...] = ()


def margins_of(delta: Entry | None, accept: Entry | None) -> GateMargins:
    """UsageError `bench.yaml:LINE: …` for a share that is none, an unknown figure or a missing reason."""
    return GateMargins(_share(delta) if delta else None, _accepts(accept) if accept else ())


def accepted(case_id: str, figure: str, accepts: Iterable[Accept]) -> str | None:
    """Why a change of the case's figure is accepted; its own reason comes before one for every figure."""
    mine = [one for one in accepts if one.figure in {figure, None} and matches(one.pattern, case_id)]
    return next((one.reason for one in sorted(mine, key=lambda one: one.figure is None)), None)


def _share(entry: Entry) -> float:
    raw = scalar(entry.node, "delta")
    with at(raw.where):
        share = parse_share(raw.text)
        if share == 1:
            raise ValueError(f'delta "{raw.text}" must be below 100 %, as 5%')
    return share


def _accepts(entry: Entry) -> tuple[Accept, ...]:
    found: list[Accept] = []
    for pattern, one in table(entry.node, "accept").entries.items():
        if not isinstance(one.node, YamlMapping):
            found.append(Accept(one.where, pattern, None, _reason(one.node, pattern)))
            continue
        if not one.node.entries:
            raise UsageError(
                f"{one.where}: accept {pattern} names no figure; give a reason for all, or one each"
            )
        for figure, why in one.node.entries.items():
            if figure not in FIGURES:
                raise UsageError(
                    f'{why.where}: unknown figure "{figure}" to accept{nearest(figure, FIGURES)}'
                )
            found.append(Accept(why.where, pattern, figure, _reason(why.node, figure)))
    return tuple(found)


def _reason(node: Node, what: str) -> str:
    """A reason in words: `true` and an empty value are none."""
    if not isinstance(node, Scalar) or not isinstance(node.value, str) or not node.value.strip():
        raise UsageError(f"{node.where}: accept {what} needs a reason; say in words why the change is meant")
    return node.value.strip()
