"""The buffer breakdown of a planned peak, as sentences (also for the gate) and as a table."""

from collections.abc import Sequence

from harness.analysis.results import label_of, static_of
from harness.analysis.suite_results import SuiteResults
from harness.core.grouped import grouped
from harness.core.peak_owners import Owner, OwnerChange, Owners, owner_changes
from harness.core.record import Record
from harness.core.static_figures import Static
from harness.core.units import format_count
from harness.report.format import short_bytes, short_label
from harness.report.tables.table_data import Column, TableData

WORTH = 0.1  # sentences name only buffers with at least this share of the peak
FEW = 3
COLUMNS = (
    Column("buffer", right=False, rank=2, folds=True),
    Column("operator", right=False, folds=True),
    Column("line", right=False, folds=True),
    Column("bytes"),
    Column("share", caption="share: of the planned peak."),
    Column("kind", right=False, rank=3),
    Column("shape", right=False, rank=4, folds=True),
)


def peak_sentence(owners: Owners) -> str:
    """`peak 33.1 GiB: 32 GiB from eq at broadcast.py:21`."""
    largest = [owner for owner in owners.owners if owner.bytes >= WORTH * owners.peak_bytes][:FEW]
    parts = [f"{short_bytes(owner.bytes)} from {place_of(owner)}" for owner in largest]
    if not parts and owners.owners:
        parts = [f"no buffer has a tenth of it; the largest is {place_of(owners.owners[0])}"]
    text = "; ".join(parts) or "the compiler lists no buffers"
    return f"peak {short_bytes(owners.peak_bytes)}: {text}"


def place_of(owner: Owner) -> str:
    """`eq at broadcast.py:21`, `the argument q`, `the result of eq at broadcast.py:21`."""
    if owner.kind == "argument":
        return f"the argument {owner.name}"
    place = f" at {owner.source}" if owner.source else f" ({owner.name}, source line unknown)"
    made = f"{owner.operator or owner.name}{place}"
    return {"output": f"the result of {made}", "saved": f"{made}, saved for the backward"}.get(
        owner.kind, made
    )


def caveats(owners: Owners) -> list[str]:
    """Why the buffers do not add up to the whole plan, to the byte."""
    notes: list[str] = []
    if not owners.exact:
        more = "more" if owners.difference_bytes > 0 else "less"
        notes.append(
            f"approximate: the buffers add up to {abs(owners.difference_bytes)} B {more} than the planned sum"
        )
    if owners.gap_bytes >= WORTH * owners.peak_bytes:
        notes.append(
            f"{short_bytes(owners.gap_bytes)} of the plan is not in a listed buffer: "
            "alignment, holes, loop values"
        )
    return notes


def change_sentence(change: OwnerChange) -> str:
    """`added: 4 MiB, copy at scatter.py:14, f32[1024,1024]`; likewise `removed`, `grew` or `shrank`."""
    owner = change.now or change.before
    assert owner
    sizes = " -> ".join(short_bytes(side.bytes) for side in (change.before, change.now) if side)
    if change.before and change.now:
        verb = "grew" if change.bytes > 0 else "shrank"
    else:
        verb = "added" if change.now else "removed"
    return f"{verb}: {sizes}, {place_of(owner)}{f', {owner.shape}' if owner.shape else ''}"


def change_sentences(changes: Sequence[OwnerChange]) -> list[str]:
    """The largest changes as sentences."""
    return [change_sentence(change) for change in changes[:FEW]]


def owners_lines(record: Record, target: str) -> list[str]:
    """The breakdown of one case on one target with its caveats, or why there is none."""
    figures = record.static.get(target)
    case = _case_of(record, target)
    owners = figures.owners if figures is not None else None
    if owners is None:
        return [f"{case}: no buffer breakdown: {_why_none(figures, record)}."]
    notes = (*caveats(owners), *(figures.warnings if figures else ()))
    return [f"{case}: {peak_sentence(owners)}.", *(f"! {note}" for note in notes)]


def _case_of(record: Record, target: str) -> str:
    return f"{short_label(label_of(record))} at {format_count(record.seq)} on {target}"


def _why_none(figures: Static | None, record: Record) -> str:
    why = figures.unavailable.get("owners") or figures.unavailable.get("temp_bytes") if figures else None
    return why or record.reason or "it was not requested"


def longest_owned(panel: SuiteResults) -> list[str]:
    """Per target and implementation, the buffer breakdown at the longest length that has one."""
    lines: list[str] = []
    for target in panel.compiled_targets:
        longest: dict[str, str] = {}
        for row in panel.cases:
            figures = static_of(row.records, target)
            if figures is not None and figures.owners is not None:
                notes = "".join(f" ({note})" for note in caveats(figures.owners))
                case = _case_of(row.record, target)
                longest[row.label] = f"{case}: {peak_sentence(figures.owners)}{notes}."
        lines += longest.values()
    return lines


def owners_table(record: Record, target: str, owners: Owners) -> TableData:
    """A row per buffer at the peak, largest first, then a row for all smaller ones and a row for gaps."""
    rows = [_cells(owner, owners) for owner in owners.owners]
    count, size = owners.others
    if count:
        rows.append([f"{count} more", "", "", *_amount(size, owners), "", ""])
    if owners.gap_bytes:
        rows.append(["not in a listed buffer", "", "", *_amount(owners.gap_bytes, owners), "", ""])
    title = f"{label_of(record)} at {format_count(record.seq)}, {record.mode}, on {target}"
    return TableData.of_sections(title, COLUMNS, [((), rows)])


def comparison_lines(records: Sequence[Record], target: str) -> list[str]:
    """For workloads with exactly two implementations, the buffers in which their peaks differ."""
    lines: list[str] = []
    for together in grouped(records, lambda record: (str(record.workload), record.mode)).values():
        figures = [record.static.get(target) for record in together]
        known = [each.owners for each in figures if each is not None and each.owners is not None]
        if len(together) != 2 or len(known) != 2:
            continue
        (first, second), (before, now) = (short_label(label_of(record)) for record in together), known
        difference, at = now.peak_bytes - before.peak_bytes, format_count(together[0].seq)
        lines.append(f"{second} plans {_more(difference)} than {first} at {at} on {target}:")
        lines += [f"  {line}" for line in _differences(before, now)]
    return lines


def since_lines(record: Record, target: str, before: Static, base: str) -> list[str]:
    """How much a case's peak grew since a base, and which buffers changed, largest first."""
    figures, case = record.static.get(target), _case_of(record, target)
    now = figures.owners if figures is not None else None
    if now is None or before.owners is None:
        why = _why_none(figures, record) if now is None else _why_none(before, record)
        return [f"{case} cannot be compared with {base}: {why}."]
    difference = now.peak_bytes - before.owners.peak_bytes
    first, *others = _differences(before.owners, now) or ["the same buffers"]
    verb = "grew" if difference > 0 else "shrank"
    change = f"{verb} by {short_bytes(abs(difference))}" if difference else "did not change"
    return [f"{case}: the peak {change} since {base}: {first}.", *(f"  {line}" for line in others)]


def _differences(before: Owners, now: Owners) -> list[str]:
    """The largest changes of buffers, and the sum of all others."""
    changes = owner_changes(before, now)
    rest = now.peak_bytes - before.peak_bytes - sum(change.bytes for change in changes[:FEW])
    return [*change_sentences(changes), *([f"all others together: {_more(rest)}"] if rest else [])]


def _more(size: int) -> str:
    return f"{short_bytes(abs(size))} {'more' if size >= 0 else 'less'}"


def _cells(owner: Owner, owners: Owners) -> list[str]:
    made = place_of(owner) if owner.kind == "argument" else owner.operator
    return [owner.name, made, owner.source, *_amount(owner.bytes, owners), owner.kind, owner.shape]


def _amount(size: int, owners: Owners) -> list[str]:
    return [short_bytes(size), f"{100 * size / owners.peak_bytes:.3g} %" if owners.peak_bytes else ""]
