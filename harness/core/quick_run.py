"""Runs of `--quick`, whose times are noisy: how one is known, and what to say wherever they are shown."""

from collections.abc import Mapping
from typing import Any

QUICK = "--quick"
QUICK_NOTE = (
    "--quick is noisy: two lengths and a tenth of the budget, to see that all runs; quote no number of it."
)
_UNTIMED = {"static", "check"}  # depths without times: all their figures are exact


def quick_notes(info: Mapping[str, Any]) -> tuple[str, ...]:
    """The sentence on a run whose times `--quick` took, by the command in its run.json; of others nothing."""
    timed = info.get("depth") not in _UNTIMED
    return (QUICK_NOTE,) if timed and QUICK in (info.get("command") or ()) else ()
