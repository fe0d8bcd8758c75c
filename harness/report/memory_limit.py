"""How many bytes a program may plan: an accelerator's memory, or what a run leaves a case on the host."""

from collections.abc import Mapping
from typing import Any

from harness.analysis.results import HOST
from harness.catalog.accelerators import memory_of
from harness.core.errors import UsageError


def limit_of(info: Mapping[str, Any], suite: str, target: str) -> int | None:
    """The host's is the suite's own setting, else the run's; None where nothing says."""
    if target == HOST:
        own = ((info.get("suites") or {}).get(suite) or {}).get("settings") or {}
        return {**(info.get("settings") or {}), **own}.get("memory_bytes")
    try:
        return memory_of(target)
    except UsageError:  # a stored run may know a target that this version does not
        return None
