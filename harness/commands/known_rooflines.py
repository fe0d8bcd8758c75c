"""The measured ceilings of stored machines, for the columns and charts that show them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from harness.core.errors import UsageError

if TYPE_CHECKING:
    from harness.analysis.roofline import Roofline

ROOF = "roof"  # the column that needs them


def known_rooflines(results: Path) -> dict[str, Roofline]:
    """Fingerprint → ceilings. UsageError where the file holds something else."""
    from harness.analysis.roofline import roofline_of
    from harness.store import rooflines

    try:
        return {machine: roofline_of(data) for machine, data in rooflines.read(results).items()}
    except ValueError as error:
        raise UsageError(
            f"{results / rooflines.FILE}: {error}; delete it, and measure again: seqsweep doctor --roofline"
        ) from None
