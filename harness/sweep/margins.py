"""A suite's settings for a gate: the slowdown to catch (`delta`) and the intended changes (`accept`).

delta: 5%
accept:
  mask/scatter@*: writes rows whole, for the sake of TPUs   # every figure of these cases
  "topk/two_stage[buckets=64,keep=2]@*":                    # this figure only; brackets need quotes
    temp_bytes: keeps both stages' candidates
  "mask/*rows=128*": {case: 32 rows take their place}       # these cases may go: only `case` allows that
"""

from collections.abc import Iterable
from dataclasses import dataclass

from harness.core.errors import UsageError, nearest
from harness.core.patterns import matches
from harness.core.static_figures import EXACT_FIGURES
from harness.core.units import parse_share
from harness.sweep.yaml.nodes import Entry, Node, Scalar, YamlMapping, at, scalar, table

CASE = "case"  # the case's existence, which is none of its figures
FIGURES = ("time", *EXACT_FIGURES, "custom_calls", "kernels", "contract", CASE)


@dataclass(frozen=True)
class Accept:
    """An intended change. `pattern` is an id or a glob; `figure` None stands for every figure."""

    where: str
    pattern: str
    figure: str | None
    reason: str


@dataclass(frozen=True)
class GateMargins:
    """A suite's margins: `delta` is the smallest slowdown to catch, as a share; None where not set."""

    delta: float | None = None
    accept: tuple[Accept, ...] = ()


def margins_of(delta: Entry | None, accept: Entry | None) -> GateMargins:
    """Parse both keys. UsageError `bench.yaml:LINE: …`: no share, an unknown figure, a missing reason."""
    return GateMargins(_share(delta) if delta else None, _accepts(accept) if accept else ())


def why_accepted(case_id: str, figure: str, accepts: Iterable[Accept]) -> str | None:
    """Why a change of the case's figure is accepted; a reason for this figure precedes one for all."""
    meant = {figure} if figure == CASE else {figure, None}
    matching = [accept for accept in accepts if accept.figure in meant and matches(accept.pattern, case_id)]
    return next(
        (accept.reason for accept in sorted(matching, key=lambda accept: accept.figure is None)), None
    )


def _share(entry: Entry) -> float:
    raw = scalar(entry.node, "delta")
    with at(raw.where):
        share = parse_share(raw.text)
        if share == 1:
            raise ValueError(f'delta "{raw.text}" must be below 100 %, as 5%')
    return share


def _accepts(entry: Entry) -> tuple[Accept, ...]:
    accepts: list[Accept] = []
    for pattern, item in table(entry.node, "accept").entries.items():
        if not isinstance(item.node, YamlMapping):
            accepts.append(Accept(item.where, pattern, None, _reason(item.node, pattern)))
            continue
        if not item.node.entries:
            raise UsageError(
                f"{item.where}: accept {pattern} names no figure; give a reason for all, or one each"
            )
        for figure, why in item.node.entries.items():
            if figure not in FIGURES:
                raise UsageError(
                    f'{why.where}: unknown figure "{figure}" to accept{nearest(figure, FIGURES)}'
                )
            accepts.append(Accept(why.where, pattern, figure, _reason(why.node, figure)))
    return tuple(accepts)


def _reason(node: Node, what: str) -> str:
    """A reason in words; `true` or an empty value is refused."""
    if not isinstance(node, Scalar) or not isinstance(node.value, str) or not node.value.strip():
        raise UsageError(f"{node.where}: accept {what} needs a reason; say in words why the change is meant")
    return node.value.strip()
