"""The owners of a program's planned peak: the buffers that are alive there, with the lines that made them."""

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
