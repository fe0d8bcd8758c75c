"""The owners of a program's planned peak: the buffers that are alive there, with the lines that made them.

Those of two programs are matched: which buffer grew, which came, which went.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass

MOST = 12  # buffers of a peak that are named, largest first


@dataclass(frozen=True, slots=True)
class Owner:
    """A buffer that is alive at the peak."""

    name: str  # the instruction's in the optimised module, an operator's of a trace, or an argument's
    kind: str  # `argument`, `output`, `temp`, or `saved` for a backward
    bytes: int
    operator: str  # the opcode, or the operator's name
    shape: str  # dtype and sizes, like `f32[8,1024]`; empty where they are not known
    source: str  # `file:line`; empty where nothing names one


@dataclass(frozen=True, slots=True)
class Owners:
    """The buffers at a program's planned peak.

    Owners, others and gap add up to `peak_bytes`: the plan as the buffers have it. That is what `static`
    shows as arguments + outputs + temporaries − aliases, but for `difference_bytes`.
    """

    peak_bytes: int
    difference_bytes: int  # peak_bytes − the bytes that the static figures plan; 0: the owners are exact
    gap_bytes: int  # of the plan that are in no listed buffer: alignment, holes, and what the compiler omits
    owners: tuple[Owner, ...]  # largest first
    others: tuple[int, int]  # how many smaller buffers there are, and their bytes

    @classmethod
    def of(cls, buffers: list[Owner], peak_bytes: int, planned_bytes: int) -> "Owners":
        """The owners of a peak that holds these buffers; the static figures plan `planned_bytes`."""
        ranked = sorted(buffers, key=lambda owner: (-owner.bytes, owner.name))
        others = sum(owner.bytes for owner in ranked[MOST:])
        gap = peak_bytes - sum(owner.bytes for owner in ranked)
        count = len(ranked[MOST:])
        return cls(peak_bytes, peak_bytes - planned_bytes, gap, tuple(ranked[:MOST]), (count, others))

    @property
    def exact(self) -> bool:
        return self.difference_bytes == 0


Key = Callable[[Owner], Hashable]

# What two buffers must have in common to be the same one, strictest first. A version of a program moves
# lines, another implementation has other files; what stays are a buffer's shape and the operator's name.
ALIKE: tuple[Key, ...] = (
    lambda owner: (owner.kind, owner.operator, owner.shape, owner.bytes),
    lambda owner: (owner.kind, owner.shape, owner.bytes),
    lambda owner: (owner.kind, owner.operator, owner.source),
    lambda owner: (owner.kind, owner.name),
)


@dataclass(frozen=True)
class OwnerChange:
    """One buffer on both sides; `before` is None for one that came, `now` for one that went."""

    before: Owner | None
    now: Owner | None

    @property
    def bytes(self) -> int:
        """The growth in bytes; negative where it shrank."""
        return (self.now.bytes if self.now else 0) - (self.before.bytes if self.before else 0)


def owner_changes(before: Owners, now: Owners) -> tuple[OwnerChange, ...]:
    """The named buffers whose bytes differ, the largest difference first."""
    old, new = [*before.owners], [*now.owners]
    changes: list[OwnerChange] = []
    for key in ALIKE:
        unmatched: list[Owner] = []
        for owner in new:
            partner = next((each for each in old if key(each) == key(owner)), None)
            if partner is None:
                unmatched.append(owner)
                continue
            old.remove(partner)
            changes.append(OwnerChange(partner, owner))
        new = unmatched
    changes += [OwnerChange(None, owner) for owner in new]
    changes += [OwnerChange(owner, None) for owner in old]
    return tuple(sorted((c for c in changes if c.bytes), key=lambda change: -abs(change.bytes)))
