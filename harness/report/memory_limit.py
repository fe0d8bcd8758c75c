"""The memory limit of a program's plan: an accelerator's memory, or a run's setting on the host."""

from collections.abc import Mapping
from typing import Any

from harness.analysis.results import HOST
from harness.catalog.accelerators import memory_of
from harness.core.errors import UsageError


def limit_of(info: Mapping[str, Any], suite: str, target: str) -> int | None:
    """The limit in bytes; on the host the suite's setting, else the run's. None where it is not known."""
    if target == HOST:
        settings = ((info.get("suites") or {}).get(suite) or {}).get("settings") or {}
        return {**(info.get("settings") or {}), **settings}.get("memory_bytes")
    try:
        return memory_of(target)
    except UsageError:  # a stored run may know a target that this version does not
        return None
