"""Extrapolated figures of a call that is too long to trace, with loops of thousands of iterations.

The callable is traced over shorter inputs, at four equally spaced lengths. Figures that are polynomials of
the length of degree two at most, such as a total over a loop's iterations, have third differences of exactly
zero and are extrapolated in integers. One more trace at a length in between must agree with its
extrapolation. Any other growth gets no figures.

The peak is a maximum over all places in the program, and the place changes with the length. So the live bytes
at each place are extrapolated by themselves: in its first, last and highest pass.
"""

import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, cast

from harness.catalog.arrays import Array, Shapes, walk
from harness.core.peak_owners import Owner, Owners
from harness.core.static_figures import Static

LONG = 1 << 16  # shorter inputs are always traced whole
MOST_OPERATORS = 64_000  # of a whole trace, which then takes some 4 s
# (Step between lengths, a multiple of the callable's own block size; first length in steps.)
PLANS = ((1024, 2), (4096, 4))
LENGTHS = 4
# The extrapolation is checked at a length with so many operators, or at least so many steps further on: a
# cap, such as the number of blocks that a query selects, may not be reached at any of the four lengths.
CHECK_OPERATORS = MOST_OPERATORS // 4
FARTHER = 2 * LENGTHS
BYTES = ("argument_bytes", "output_bytes", "alias_bytes")

Line = tuple[str, str, str, str]  # (name, kind, operator, source) of a buffer


@dataclass
class Survey:
    """A trace's number of operators, and at each place the live bytes of its first, last and highest pass."""

    operators: int = 0
    places: dict[Any, list[int]] = field(default_factory=dict[Any, list[int]])
    buffers: list[Owner] = field(default_factory=list[Owner])  # at the peak, on request

    def add(self, place: Any, live: int) -> None:
        self.operators += 1
        passes = self.places.setdefault(place, [live, live, live])
        passes[1], passes[2] = live, max(passes[2], live)


def longest_axis(shapes: Shapes) -> int:
    """The longest axis of all inputs, which is taken for their length."""
    return max((max(array.shape, default=0) for _, array in walk(shapes)), default=0)


def resize(shapes: Shapes, length: int) -> Shapes:
    """The inputs with every axis of their length resized to another."""
    whole = longest_axis(shapes)

    def resize_branch(branch: Array | Shapes) -> Array | Shapes:
        if isinstance(branch, Array):
            return Array(tuple(length if size == whole else size for size in branch.shape), branch.dtype)
        return {name: resize_branch(part) for name, part in branch.items()}

    return cast("Shapes", resize_branch(shapes))


def extrapolate(values: Sequence[int], steps: int) -> int | None:
    """The value `steps` after the first of equally spaced ones; None unless all third differences are 0."""
    first = [b - a for a, b in pairwise(values)]
    second = [b - a for a, b in pairwise(first)]
    if len(set(second)) != 1:
        return None
    # Newton's forward differences.
    return values[0] + steps * first[0] + steps * (steps - 1) // 2 * second[0]


def figures(trace: Callable[[int], tuple[Static, Survey]], whole: int) -> Static:
    """Figures at length `whole` by `trace(length)`; none if a whole trace is short, or nothing agrees."""
    start = time.perf_counter()
    description = ""
    for step, begin in PLANS:
        # With the remainder of the whole length, so that each trace ends in the same incomplete tile.
        lengths = [step * k + whole % step for k in range(begin, begin + LENGTHS)]
        traces = [trace(length) for length in lengths[:2]]
        operators = [survey.operators for _, survey in traces]
        beyond, more = (whole - lengths[0]) // step, operators[1] - operators[0]
        expected = operators[0] + beyond * more
        if traces[0][0].planned_bytes is None or expected <= MOST_OPERATORS:
            return Static.none("traced whole")
        traces += [trace(length) for length in lengths[2:]]
        description = f"extrapolated from {LENGTHS} traces over {lengths[0]} to {lengths[-1]} tokens"
        extrapolated = _extrapolate(traces, beyond)
        if not extrapolated:
            continue
        counts = [survey.operators for _, survey in traces]

        def operators_at(steps: int, counts: Sequence[int] = counts) -> int:
            return extrapolate(counts, steps) or counts[0] + steps * (counts[1] - counts[0])

        far = bisect_right(range(beyond + 1), CHECK_OPERATORS, key=operators_at) - 1
        far = min(beyond, max(FARTHER, far))
        between = lengths[0] + step * far
        witness = trace(between)
        if witness[0].planned_bytes is None:
            description += f": there is no trace over {between} to hold them against"
            continue
        if not _agrees(_extrapolate(traces, far), witness[0]):
            description += f": a trace over {between} has other figures than they foretell"
            continue
        description += f", which foretell a trace over {between}"
        static = Static(
            **extrapolated,
            flops_source="matmul_only",
            lower_s=time.perf_counter() - start,
            unavailable={**traces[0][0].unavailable, "program": f"figures are {description}"},
            warnings=(
                *traces[0][0].warnings,
                f"FLOPs and bytes {description}: a whole trace has some {operators_at(beyond)} operators",
            ),
        )
        return _with_owners(static, traces, witness, beyond, far)
    return Static.none(f"cannot be {description}")


def _agrees(figures: Mapping[str, Any], witness: Static) -> bool:
    """Whether extrapolated figures equal those of a trace at the same length."""
    return all(getattr(witness, name) == value for name, value in figures.items())


def _extrapolate(traces: Sequence[tuple[Static, Survey]], beyond: int) -> dict[str, Any]:
    """The figures `beyond` steps after the first trace; empty unless all can be extrapolated."""
    statics = [static for static, _ in traces]
    if any(static.flops is None for static in statics):
        return {}
    rows = {name: [getattr(static, name) for static in statics] for name in BYTES}
    rows["flops"] = [int(static.flops or 0) for static in statics]
    extrapolated = {name: extrapolate(values, beyond) for name, values in rows.items()}
    peak = _peak([survey.places for _, survey in traces], beyond)
    if peak is None or any(value is None for value in extrapolated.values()):
        return {}
    sizes = {name: value or 0 for name, value in extrapolated.items()}
    new = sizes["output_bytes"] - sizes["alias_bytes"]
    return {
        **sizes,
        "peak_bytes": peak,
        "temp_bytes": max(0, peak - sizes["argument_bytes"] - new),
    }


def _with_owners(
    static: Static,
    traces: Sequence[tuple[Static, Survey]],
    witness: tuple[Static, Survey],
    beyond: int,
    far: int,
) -> Static:
    """The figures with the buffers of the peak, summed by source line, if the traces have owners."""
    if witness[0].owners is None:
        return static
    lines = [_bytes_by_line(survey.buffers) for _, survey in traces]
    sizes = _line_bytes(lines, beyond)
    if sizes is None or _line_bytes(lines, far) != _bytes_by_line(witness[1].buffers):
        why = "lengths that are traced have other buffers at their peaks"
        return replace(static, unavailable={**static.unavailable, "owners": why})
    buffers = [
        Owner(name, kind, size, operator, "", source)
        for (name, kind, operator, source), size in sizes.items()
    ]
    owners = Owners.of(buffers, sum(sizes.values()), static.planned_bytes or 0)
    return replace(static, owners=owners)


def _bytes_by_line(buffers: Sequence[Owner]) -> dict[Line, int]:
    sizes = Counter[Line]()
    for owner in buffers:
        sizes[owner.name, owner.kind, owner.operator, owner.source] += owner.bytes
    return dict(sizes)


def _line_bytes(traces: Sequence[Mapping[Line, int]], beyond: int) -> dict[Line, int] | None:
    """Each line's bytes, extrapolated; None unless all traces have the same lines."""
    if any(sizes.keys() != traces[0].keys() for sizes in traces):
        return None
    sizes = {line: extrapolate([trace[line] for trace in traces], beyond) for line in traces[0]}
    known = {line: size for line, size in sizes.items() if size is not None}
    return known if len(known) == len(sizes) else None


def _peak(surveys: Sequence[dict[Any, list[int]]], beyond: int) -> int | None:
    if any(survey.keys() != surveys[0].keys() for survey in surveys):
        return None
    rows: list[list[int]] = []
    for place in surveys[0]:
        first, last, highest = zip(*(survey[place] for survey in surveys), strict=True)
        rows += [[*first], [*last]]
        # The maximum of first and last pass needs no row: both have one, and where they cross it is no
        # polynomial.
        if list(highest) != [max(ends) for ends in zip(first, last, strict=True)]:
            rows.append([*highest])
    extrapolated = [extrapolate(row, beyond) for row in rows]
    integers = [value for value in extrapolated if value is not None]
    return max(integers) if len(integers) == len(extrapolated) else None
