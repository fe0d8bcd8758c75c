"""Case ids split into parts, so that a family's heading says once what all of its cases share."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.core.case import split_id
from harness.core.grouped import grouped
from harness.core.units import format_count
from harness.report.format import short_label


@dataclass(frozen=True)
class Name:
    """The parts of a case id. `where` has the workload but for its length, the mode and the device.

    Each entry of `where` is (name, text). An id of another form is its own label, without parts.
    """

    case: str
    label: str
    seq: int | None = None
    where: tuple[tuple[str, str], ...] = ()

    @property
    def family(self) -> str:
        return self.label.split("/", 1)[0] if "/" in self.label else "cases"

    @property
    def implementation(self) -> str:
        return short_label(self.label) if "/" in self.label else self.label

    @property
    def length(self) -> str:
        return "–" if self.seq is None else format_count(self.seq)

    @property
    def short(self) -> str:
        """`mask/scatter at 16Ki`: enough for a title, beside which the id stands in full."""
        return self.label if self.seq is None else f"{self.label} at {format_count(self.seq)}"


def name_of(case: str) -> Name:
    try:
        parts = split_id(case)
    except ValueError:
        return Name(case, case)
    fields = parts.fields
    seq = fields.pop("seq", "")
    workload = ((name, _value(value)) for name, value in fields.items())
    where = (*workload, ("mode", parts.mode), ("device", parts.device))
    return Name(case, parts.label, int(seq) if seq.isdecimal() else None, where)


def _value(text: str) -> str:
    return format_count(int(text)) if text.isdecimal() else text


def by_family(names: Sequence[Name]) -> dict[str, list[Name]]:
    """Names by family, in order of first appearance; the lengths of an implementation follow each other."""
    families = grouped(names, lambda name: name.family)
    for members in families.values():
        labels = list(dict.fromkeys(name.label for name in members))
        places = list(dict.fromkeys(name.where for name in members))
        members.sort(key=lambda name: (labels.index(name.label), places.index(name.where), name.seq or 0))
    return families


def heading(names: Sequence[Name]) -> str:
    """`mask: batch=1 dtype=f32 topk=2Ki mode=fwd device=cpu`: the family and what its cases share."""
    shared = (f"{field}={value}" for field, value in names[0].where if not _varies(field, value, names))
    return f"{names[0].family}: {' '.join(shared)}".removesuffix(": ")


def distinction(name: Name, names: Sequence[Name]) -> str:
    """`topk=64 mode=bwd`: what distinguishes this case from others of its family."""
    return " ".join(f"{field}={value}" for field, value in name.where if _varies(field, value, names))


def _varies(field: str, value: str, names: Sequence[Name]) -> bool:
    return any(dict(other.where).get(field) != value for other in names)
