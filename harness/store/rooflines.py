"""The ceilings that `doctor --roofline` measured, by their fingerprint: `results/rooflines.json`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.store import json_file
from harness.store.atomic import write_files
from harness.store.stored_run import fingerprint_id

FILE = "rooflines.json"
REMEDY = "delete it, and measure again: seqsweep doctor --roofline"


def keep(results: Path, facts: Mapping[str, Any], measured: Mapping[str, Any]) -> Path:
    """Add what was measured of a machine, in place of what was known of it; the file's path.

    Raises MachineError where it cannot be written.
    """
    kept = {**read(results), fingerprint_id(facts): {**measured, "facts": facts}}
    return write_files(results, {FILE: json_file.to_text(kept)})[0]


def read(results: Path) -> dict[str, Any]:
    """Fingerprint → what was measured; empty where nothing was. UsageError for a damaged file."""
    path = results / FILE
    return json_file.read_object(path, REMEDY) if path.exists() else {}
