"""The limit of a program's planned memory: an accelerator's memory, or on the host the run's setting."""

from collections.abc import Mapping
from typing import Any

from harness.analysis.results import HOST
from harness.catalog.accelerators import memory_of
from harness.core.errors import UsageError


def limit_of(info: Mapping[str, Any], suite: str, target: str) -> int | None:
    """The limit in bytes; on the host the suite's setting, else the run's. None if unknown."""
    if target == HOST:
        settings = ((info.get("suites") or {}).get(suite) or {}).get("settings") or {}
        return {**(info.get("settings") or {}), **settings}.get("memory_bytes")
    try:
        return memory_of(target)
    except UsageError:  # a stored run may have a target that this version does not know
        return None
