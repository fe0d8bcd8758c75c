"""The buffers at the planned peaks of two programs, matched: which one grew, which came, which went."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from harness.core.peak_owners import Owner, Owners

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
