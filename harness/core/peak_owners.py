"""The buffer breakdown of a program's planned peak: the live buffers, with their source lines.

The buffers of two programs are matched, to report which buffers grew, appeared or disappeared.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass

MOST = 12  # named buffers of a peak, largest first


@dataclass(frozen=True, slots=True)
class Owner:
    """A buffer that is alive at the peak."""

    name: str  # of an instruction in the optimised module, of an operator in a trace, or of an argument
    kind: str  # `argument`, `output`, `temp`, or `saved` for a backward
    bytes: int
    operator: str  # the opcode, or the operator's name
    shape: str  # dtype and sizes, like `f32[8,1024]`; empty if unknown
    source: str  # `file:line`; empty if unknown


@dataclass(frozen=True, slots=True)
class Owners:
    """The buffers at a program's planned peak.

    Owners, others and gap add up to `peak_bytes`, the plan according to the buffers. It differs by
    `difference_bytes` from the plan in `static`: arguments + outputs + temporaries − aliases.
    """

    peak_bytes: int
    difference_bytes: int  # peak_bytes − the bytes that the static figures plan; 0: the owners are exact
    gap_bytes: int  # of the plan in no listed buffer: alignment, holes, and unlisted buffers
    owners: tuple[Owner, ...]  # largest first
    others: tuple[int, int]  # the number of smaller buffers, and their bytes

    @classmethod
    def of(cls, buffers: list[Owner], peak_bytes: int, planned_bytes: int) -> "Owners":
        """The breakdown of a peak with these buffers; the static figures plan `planned_bytes`."""
        ranked = sorted(buffers, key=lambda owner: (-owner.bytes, owner.name))
        others = sum(owner.bytes for owner in ranked[MOST:])
        gap = peak_bytes - sum(owner.bytes for owner in ranked)
        count = len(ranked[MOST:])
        return cls(peak_bytes, peak_bytes - planned_bytes, gap, tuple(ranked[:MOST]), (count, others))

    @property
    def exact(self) -> bool:
        return self.difference_bytes == 0


Key = Callable[[Owner], Hashable]

# The properties by which buffers of two programs are matched, strictest first. Lines differ between versions
# of a program, and files between implementations. Shapes and operator names are more stable.
ALIKE: tuple[Key, ...] = (
    lambda owner: (owner.kind, owner.operator, owner.shape, owner.bytes),
    lambda owner: (owner.kind, owner.shape, owner.bytes),
    lambda owner: (owner.kind, owner.operator, owner.source),
    lambda owner: (owner.kind, owner.name),
)


@dataclass(frozen=True)
class OwnerChange:
    """One buffer in two programs; `before` is None for a new buffer, `now` for a removed one."""

    before: Owner | None
    now: Owner | None

    @property
    def bytes(self) -> int:
        """The growth in bytes; negative if it shrank."""
        return (self.now.bytes if self.now else 0) - (self.before.bytes if self.before else 0)


def owner_changes(before: Owners, now: Owners) -> tuple[OwnerChange, ...]:
    """The named buffers with different sizes, largest difference first."""
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
