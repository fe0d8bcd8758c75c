"""Updating a file of exact figures: which lines stay, and in words what becomes another."""

from __future__ import annotations

from collections.abc import Collection

from harness.spec.errors import UsageError
from harness.spec.figures import EXACT_FIGURES, change
from harness.store.baselines import Baseline, Planned


def merge(old: Baseline | None, new: Baseline, gone: Collection[str] = ()) -> Baseline:
    """The old file with the new cases over it, without those that are gone.

    UsageError where lines of another processor or number of threads would stay beside new ones.
    """
    kept = {case: one for case, one in old.cases.items() if case not in gone} if old else {}
    rest = kept.keys() - new.cases.keys()
    if old and rest and not old.planned_alike(new.processor, new.threads):
        raise UsageError(
            f"the file was written on {old.processor.name} with threads {old.threads}, and {len(rest)} of "
            "its cases would stay; update all cases at once, without --cases"
        )
    return Baseline(new.target, new.versions, new.processor, new.threads, {**kept, **new.cases})


def diff(old: Baseline | None, new: Baseline) -> list[str]:
    """What an update changes, a line each: `mask/scatter@…: temp 4.00 MiB -> 8.00 MiB (2.00×)`."""
    lines: list[str] = []
    if old and old.processor.flags != new.processor.flags:
        lines.append(f"processor: {old.processor.name} -> {new.processor.name}")
    if old and old.threads != new.threads:
        lines.append(f"threads: {old.threads} -> {new.threads}")
    before = old.cases if old else {}
    for case in sorted({*before, *new.cases}):
        if case not in new.cases:
            lines.append(f"{case}: left")
        elif case not in before:
            lines.append(f"{case}: joined")
        elif changes := _changes(before[case], new.cases[case]):
            lines.append(f"{case}: {', '.join(changes)}")
    return lines


def _changes(old: Planned, new: Planned) -> list[str]:
    found = [
        change(name, old.figures.get(name), new.figures.get(name))
        for name in EXACT_FIGURES
        if old.figures.get(name) != new.figures.get(name)
    ]
    for what in ("framework", "flops_source", "contract", "passed"):
        mine, theirs = getattr(old, what), getattr(new, what)
        if mine != theirs:
            found.append(f"{what} {mine} -> {theirs}")
    found += [f"custom call {call} left" for call in old.custom_calls if call not in new.custom_calls]
    found += [f"custom call {call} joined" for call in new.custom_calls if call not in old.custom_calls]
    return found or (["another program, same figures"] if old.program != new.program else [])
