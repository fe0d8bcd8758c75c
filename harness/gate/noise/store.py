"""This machine's noise as `doctor --noise` last measured it: `results/noise.json`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.store import json_file
from harness.store.atomic import write_files

FILE = "noise.json"


def write(results: Path, noise: Mapping[str, Any]) -> Path:
    """Write the file; its path. Raises MachineError where that fails."""
    data = json_file.to_text(noise)
    return write_files(results, {FILE: data})[0]


def read(results: Path) -> dict[str, Any] | None:
    """The file's content; None where nothing was measured. UsageError for a damaged file."""
    path = results / FILE
    remedy = "measure again with: seqsweep doctor --noise"
    return json_file.read_object(path, remedy) if path.exists() else None
