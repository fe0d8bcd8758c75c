"""Figures of a call that is too long to trace, because it loops thousands of times over its inputs.

The same callable is traced over shorter inputs, at four equally spaced lengths. A polynomial of the length
of degree two at most, such as a total over a loop's steps, has third differences of exactly zero; it is
extrapolated to the whole length in integers, and so to a length between, where one more trace must have
the same figures. Any other growth gets no figures here.
A peak is the highest of many places in the program, and which place that is changes with the length, so
each place is extrapolated by itself: at its first and last pass and at its highest.
"""

import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, cast

from harness.catalog.arrays import Array, Shapes, walk
from harness.core.peak_owners import Owner, Owners, largest_first
from harness.core.static_figures import StageWork, Static

LONG = 1 << 16  # shorter inputs are always traced whole
MOST_OPERATORS = 64_000  # a trace of so many takes some 4 s
# (Step between lengths, a multiple of the callable's own block size; first length in steps.)
PLANS = ((1024, 2), (4096, 4))
LENGTHS = 4
# What these foretell is held against a trace at a length with so many operators, or else of so many steps
# more: a cap, such as that on how many blocks a query selects, may not have been reached at any of the four.
CHECK_OPERATORS = MOST_OPERATORS // 4
FARTHER = 2 * LENGTHS
BYTES = ("argument_bytes", "output_bytes", "alias_bytes")
COUNTS = ("entered", "operators", "flops", "bytes")  # of a stage

Line = tuple[str, str, str, str]  # of a buffer: its name, kind, operator and source


@dataclass
class Survey:
    """A trace's operator count, and at each place the live bytes of its first, last and highest pass."""

    operators: int = 0
    places: dict[Any, list[int]] = field(default_factory=dict[Any, list[int]])
    buffers: list[Owner] = field(default_factory=list[Owner])  # at the peak, where they were asked for

    def add(self, place: Any, live: int) -> None:
        self.operators += 1
        passes = self.places.setdefault(place, [live, live, live])
        passes[1], passes[2] = live, max(passes[2], live)


def longest(shapes: Shapes) -> int:
    """The longest axis of all inputs, assumed to be their length."""
    return max((max(array.shape, default=0) for _, array in walk(shapes)), default=0)


def cut(shapes: Shapes, length: int) -> Shapes:
    """Inputs of another length."""
    whole = longest(shapes)

    def resize(branch: Array | Shapes) -> Array | Shapes:
        if isinstance(branch, Array):
            return Array(tuple(length if size == whole else size for size in branch.shape), branch.dtype)
        return {name: resize(part) for name, part in branch.items()}

    return cast("Shapes", resize(shapes))


def extrapolate(values: Sequence[int], steps: int) -> int | None:
    """`steps` beyond the first of equally spaced values; None unless all third differences are 0."""
    first = [b - a for a, b in pairwise(values)]
    second = [b - a for a, b in pairwise(first)]
    if len(set(second)) != 1:
        return None
    # Newton's forward differences.
    return values[0] + steps * first[0] + steps * (steps - 1) // 2 * second[0]


def figures(trace: Callable[[int], tuple[Static, Survey]], whole: int) -> Static:
    """Figures at length `whole` from `trace(length)`; none if a whole trace is short or nothing fits."""
    start = time.perf_counter()
    description = ""
    for step, begin in PLANS:
        # Of the whole length's remainder, so that each trace ends in the same incomplete tile.
        lengths = [step * k + whole % step for k in range(begin, begin + LENGTHS)]
        traces = [trace(length) for length in lengths[:2]]
        operators = [survey.operators for _, survey in traces]
        beyond, more = (whole - lengths[0]) // step, operators[1] - operators[0]
        expected = operators[0] + beyond * more
        if traces[0][0].planned_bytes is None or expected <= MOST_OPERATORS:
            return Static.none("traced whole")
        traces += [trace(length) for length in lengths[2:]]
        description = f"extrapolated from {LENGTHS} traces over {lengths[0]} to {lengths[-1]} tokens"
        foretold = _extrapolate(traces, beyond)
        if not foretold:
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
        if not _foretells(_extrapolate(traces, far), witness[0]):
            description += f": a trace over {between} has other figures than they foretell"
            continue
        description += f", which foretell a trace over {between}"
        static = Static(
            **foretold,
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


def _foretells(figures: Mapping[str, Any], witness: Static) -> bool:
    """Whether figures that were extrapolated to a length are those of a trace at it."""
    known = {name: value for name, value in figures.items() if value != ()}
    return all(getattr(witness, name) == value for name, value in known.items())


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
        "stages": _stages([static.stages for static in statics], beyond),
    }


def _stages(traces: Sequence[Sequence[StageWork]], beyond: int) -> tuple[StageWork, ...]:
    """The stages' work, each count extrapolated by itself; empty unless all can be."""
    if len({tuple(work.stage for work in stages) for stages in traces}) != 1:
        return ()
    found: list[StageWork] = []
    for works in zip(*traces, strict=True):
        counts = [extrapolate([getattr(work, name) for work in works], beyond) for name in COUNTS]
        integers = [count for count in counts if count is not None]
        if len(integers) < len(COUNTS):
            return ()
        found.append(StageWork(works[0].stage, *integers))
    return tuple(found)


def _with_owners(
    static: Static,
    traces: Sequence[tuple[Static, Survey]],
    witness: tuple[Static, Survey],
    beyond: int,
    far: int,
) -> Static:
    """The figures with the peak's buffers, those of one line together, where traces have owners.

    A longer call has more operators, so that nobody knows when these buffers are alive in it.
    """
    if witness[0].owners is None:
        return static
    lines = [_bytes_by_line(survey.buffers) for _, survey in traces]
    sizes = _line_bytes(lines, beyond)
    if sizes is None or _line_bytes(lines, far) != _bytes_by_line(witness[1].buffers):
        why = "lengths that are traced have other buffers at their peaks"
        return replace(static, unavailable={**static.unavailable, "owners": why})
    buffers = [
        Owner(name, kind, size, operator, "", source, 0, 0)
        for (name, kind, operator, source), size in sizes.items()
    ]
    named, others = largest_first(buffers)
    peak = sum(sizes.values())
    owners = Owners(peak, peak - (static.planned_bytes or 0), 0, 0, 0, named, others, ())
    return replace(static, owners=owners)


def _bytes_by_line(buffers: Sequence[Owner]) -> dict[Line, int]:
    sizes = Counter[Line]()
    for owner in buffers:
        sizes[owner.name, owner.kind, owner.operator, owner.source] += owner.bytes
    return dict(sizes)


def _line_bytes(traces: Sequence[Mapping[Line, int]], beyond: int) -> dict[Line, int] | None:
    """Each line's bytes, extrapolated by themselves; None unless all traces have the same lines."""
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
        # Where two ends cross, the higher is no polynomial; it needs no row, since both ends have one.
        if list(highest) != [max(ends) for ends in zip(first, last, strict=True)]:
            rows.append([*highest])
    extrapolated = [extrapolate(row, beyond) for row in rows]
    integers = [value for value in extrapolated if value is not None]
    return max(integers) if len(integers) == len(extrapolated) else None
