"""The compile cache: a file per result, named after everything that the result depends on."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from harness.core.plain_data import digest
from harness.store import json_file
from harness.store.atomic import write_files

NAME = re.compile(r"[0-9a-f]{2}/[0-9a-f]{62}\.json")


class CompileCache:
    """Answers by key, below a folder of results. A torn or foreign file is no answer."""

    def __init__(self, results: Path) -> None:
        self.folder = results / "compiled"

    def get(self, key: Mapping[str, Any]) -> dict[str, Any] | None:
        try:
            kept = json_file.read(self._path(key))
        except (OSError, ValueError):
            return None
        return kept.get("answer") if isinstance(kept, dict) and kept.get("key") == dict(key) else None

    def put(self, key: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """MachineError when it cannot be written; what JSON cannot hold is not kept."""
        path = self._path(key)
        try:
            data = msgspec.json.encode({"key": dict(key), "answer": answer})
        except (TypeError, ValueError):
            return
        write_files(path.parent, {path.name: data})

    def _path(self, key: Mapping[str, Any]) -> Path:
        name = digest(key)
        return self.folder / name[:2] / f"{name[2:]}.json"
