"""The owners of a program's planned peak: the buffers that are alive there, with the lines that made them."""

from dataclasses import dataclass

MOST = 12  # buffers of a peak that are named, largest first
CORNERS = 200  # of a curve over the program; a longer one keeps the highest step of every stretch

Curve = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Owner:
    """A buffer that is alive at the peak. `first` and `last` are the instructions between which it lives."""

    name: str  # the instruction's in the optimised module, an operator's of a trace, or an argument's
    kind: str  # `argument`, `output`, `temp`, or `saved` for a backward
    bytes: int
    operator: str  # the opcode, or the operator's name
    shape: str  # dtype and sizes, like `f32[8,1024]`; empty where they are not known
    source: str  # `file:line`; empty where nothing names one
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Owners:
    """The buffers at a program's planned peak.

    Owners, others and gap add up to `peak_bytes`: the plan as the buffers have it. That is what `static`
    shows as arguments + outputs + temporaries − aliases, but for `difference_bytes`.
    """

    peak_bytes: int
    difference_bytes: int  # peak_bytes − the bytes that the static figures plan; 0: the owners are exact
    gap_bytes: int  # of the plan's heap that are no buffer at its peak: alignment, and holes between buffers
    at: int  # the instruction at which most bytes are alive
    instructions: int  # of the program as it is scheduled, each loop's body once
    owners: tuple[Owner, ...]  # largest first
    others: tuple[int, int]  # how many smaller buffers there are, and their bytes
    curve: Curve  # (instruction, bytes alive from it on), where that changes

    @property
    def exact(self) -> bool:
        return self.difference_bytes == 0

    @property
    def curve_difference(self) -> float:
        """The curve's highest point over the bytes of the buffers at the peak, less 1."""
        buffers = self.peak_bytes - self.gap_bytes
        return max(alive for _, alive in self.curve) / buffers - 1 if self.curve and buffers else 0.0


def largest_first(owners: list[Owner]) -> tuple[tuple[Owner, ...], tuple[int, int]]:
    """(the largest owners, (the number of others, their bytes))."""
    ranked = sorted(owners, key=lambda owner: (-owner.bytes, owner.first, owner.name))
    others = ranked[MOST:]
    return tuple(ranked[:MOST]), (len(others), sum(owner.bytes for owner in others))


def live_curve(steps: int, lives: list[tuple[int, int, int]], base: int = 0) -> Curve:
    """The bytes alive over a program's steps, of buffers as (first step, last step, bytes).

    >>> live_curve(4, [(0, 3, 10), (1, 2, 5)])
    ((0, 10), (1, 15), (3, 10))
    """
    changes: dict[int, int] = {0: base}
    for first, last, size in lives:
        changes[first] = changes.get(first, 0) + size
        changes[last + 1] = changes.get(last + 1, 0) - size
    corners: list[tuple[int, int]] = []
    alive = 0
    for step in sorted(changes):
        alive += changes[step]
        if step < steps and (not corners or corners[-1][1] != alive):
            corners.append((step, alive))
    return tuple(corners)


def thin_curve(curve: Curve) -> Curve:
    """A curve of at most CORNERS corners: of each stretch of them the highest, so that the peak stays."""
    stretch = -(-len(curve) // CORNERS)
    parts = [curve[at : at + stretch] for at in range(0, len(curve), stretch or 1)]
    return tuple(max(part, key=lambda corner: corner[1]) for part in parts)
