"""Who owns a planned peak, in sentences: for tables, charts and the gate alike."""

from collections.abc import Sequence

from harness.analysis.owner_changes import OwnerChange
from harness.core.peak_owners import Owner, Owners
from harness.report.format import short_bytes

WORTH = 0.1  # of a peak: a buffer of less is in no sentence
OFF = 0.02  # a curve that is farther from the buffers at the peak is said to be approximate
FEW = 3
BLOCKS = "▁▂▃▄▅▆▇█"
WIDE = 60  # characters of a curve on one line


def peak_sentence(owners: Owners) -> str:
    """`peak 33.1 GiB: 32 GiB is eq at broadcast.py:21, alive over instructions 12–19 of 40`."""
    largest = [owner for owner in owners.owners if owner.bytes >= WORTH * owners.peak_bytes][:FEW]
    parts = [f"{short_bytes(owner.bytes)} is {place_of(owner)}" for owner in largest]
    if owners.instructions:
        parts = [f"{part}, {_alive(owner, owners)}" for part, owner in zip(parts, largest, strict=True)]
    said = (
        "; ".join(parts) or f"none of its buffers is a tenth of it, {place_of(owners.owners[0])} is largest"
    )
    return f"peak {short_bytes(owners.peak_bytes)}: {said}"


def place_of(owner: Owner) -> str:
    """`eq at broadcast.py:21`, `the argument q`, `the result of eq at broadcast.py:21`."""
    if owner.kind == "argument":
        return f"the argument {owner.name}"
    place = f" at {owner.source}" if owner.source else f" ({owner.name}), which no line names"
    made = f"{owner.operator or owner.name}{place}"
    return {"output": f"the result of {made}", "saved": f"{made}, saved for the backward"}.get(
        owner.kind, made
    )


def _alive(owner: Owner, owners: Owners) -> str:
    if owner.first == 0 and owner.last >= owners.instructions - 1:
        return "held from the first instruction to the last"
    return f"alive over instructions {owner.first}–{owner.last} of {owners.instructions}"


def reservations(owners: Owners) -> list[str]:
    """What keeps the owners from being the whole plan, to the byte."""
    notes: list[str] = []
    if not owners.exact:
        more = "more" if owners.difference_bytes > 0 else "less"
        notes.append(
            f"approximate: the buffers take {abs(owners.difference_bytes)} B {more} than the figures plan"
        )
    if owners.gap_bytes >= WORTH * owners.peak_bytes:
        notes.append(
            f"{short_bytes(owners.gap_bytes)} of the plan are in no buffer: holes and alignment in the heap"
        )
    return notes


def curve_reservations(owners: Owners) -> list[str]:
    """How far a curve is from the buffers at the peak, where it is shown and they are not the same."""
    if abs(owners.curve_difference) <= OFF:
        return []
    far = f"{100 * abs(owners.curve_difference):.0f} % {'above' if owners.curve_difference > 0 else 'below'}"
    replayed = "the curve of live bytes is approximate, replayed from the schedule"
    return [f"{replayed}: its highest point is {far} the buffers at the peak"]


def change_sentence(change: OwnerChange) -> str:
    """`came: 4 MiB, copy at scatter.py:14, f32[1024,1024]`, or that it grew, shrank or went."""
    owner = change.now or change.before
    assert owner
    shape = f", {owner.shape}" if owner.shape else ""
    if change.before is None:
        return f"came: {short_bytes(owner.bytes)}, {place_of(owner)}{shape}"
    if change.now is None:
        return f"went: {short_bytes(owner.bytes)}, {place_of(owner)}{shape}"
    sizes = f"{short_bytes(change.before.bytes)} -> {short_bytes(change.now.bytes)}"
    return f"{'grew' if change.bytes > 0 else 'shrank'}: {sizes}, {place_of(owner)}{shape}"


def change_sentences(changes: Sequence[OwnerChange], most: int = FEW) -> list[str]:
    """The largest changes, in sentences."""
    return [change_sentence(change) for change in changes[:most]]


def curve_line(owners: Owners) -> str:
    """The live bytes over the program as one line of blocks, the fullest moment of every stretch."""
    width = min(WIDE, owners.instructions)
    heights = [0] * width
    ends = [step for step, _ in owners.curve[1:]] + [owners.instructions]
    for (step, alive), end in zip(owners.curve, ends, strict=True):
        for column in range(
            step * width // owners.instructions, (end - 1) * width // owners.instructions + 1
        ):
            heights[column] = max(heights[column], alive)
    top = max(heights) or 1
    return "".join(BLOCKS[max(0, -(-height * len(BLOCKS) // top) - 1)] for height in heights)
