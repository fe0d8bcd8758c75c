"""The provenance of figures: run, date, machine, timing method."""

from collections.abc import Iterable, Mapping
from typing import Any

from harness.core.clocks import METHODS
from harness.core.fingerprint_identity import device_name
from harness.core.record import Record
from harness.core.typed_command import quick_notes


def provenance(records: Iterable[Record], info: Mapping[str, Any]) -> str:
    """`run … · 2026-11-20 · fingerprint 1a2b3c4d (EPYC 9575F) · wall clock, inputs rotated`."""
    all_records = list(records)
    runs = _sorted_distinct(record.run for record in all_records)
    dates = _sorted_distinct(record.started[:10] for record in all_records)
    hashes = _sorted_distinct(record.fingerprint for record in all_records)
    timings = [record.timing for record in all_records if record.timing]
    methods = _sorted_distinct(f"{METHODS[t.method].name}, inputs {t.cache}" for t in timings)
    parts = [
        f"run{'s' * (len(runs) > 1)} {', '.join(runs)}" if runs else "",
        dates[0] if len(dates) == 1 else " to ".join((dates[0], dates[-1])) if dates else "",
        f"fingerprint {', '.join(machine_label(each, info) for each in hashes)}" if hashes else "",
        "; ".join(methods),
        *(note.rstrip(".") for note in quick_notes(info)),
    ]
    return " · ".join(filter(None, parts))


def _sorted_distinct(words: Iterable[str]) -> list[str]:
    return sorted({word for word in words if word})


def machine_label(fingerprint: str, info: Mapping[str, Any]) -> str:
    """The shortened hash, with the processor or GPU if `info` has the machine's facts."""
    short = fingerprint.removeprefix("sha256:")[:8]
    facts = (info.get("fingerprints") or {}).get(fingerprint) or {}
    name, threads = device_name(facts), facts.get("threads")
    parts = [str(name)] if name else []
    parts += [f"{threads} thread{'s' * (threads > 1)}"] if threads else []
    return f"{short} ({', '.join(parts)})" if parts else short
