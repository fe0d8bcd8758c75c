"""The compile cache: a file per result, named after everything that the result depends on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from harness.store import json_file
from harness.store.atomic import refused, replace


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
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise refused(path.parent, error) from None
        replace(path, data)

    def _path(self, key: Mapping[str, Any]) -> Path:
        digest = hashlib.sha256(msgspec.json.encode(key, order="deterministic")).hexdigest()
        return self.folder / digest[:2] / f"{digest[2:]}.json"
