"""Owners of the planned peak, on both sides of a case whose planned memory has increased.

Only such a case is compiled again for them: the verdict rests on the figures, the owners show where to look.
"""

from collections.abc import Mapping

from harness.catalog.accelerators import HOST
from harness.core.peak_owners import OwnerChange, Owners, owner_changes
from harness.run.case.case_state import CaseState
from harness.run.compile import CompileRequest
from harness.run.compile.compile_worker import CompileWorker
from harness.sweep.settings import Settings

# The kinds of buffers that a figure counts.
KINDS: Mapping[str, tuple[str, ...]] = {
    "temp_bytes": ("temp",),
    "argument_bytes": ("argument", "saved"),
    "output_bytes": ("output",),
}


def plans_more(before: CaseState, now: CaseState) -> bool:
    """Whether any of the candidate's memory figures is larger than the base's."""
    pairs = [(getattr(before.plan.static, name), getattr(now.plan.static, name)) for name in KINDS]
    return any(old is not None and new is not None and new > old for old, new in pairs)


def plan_owners(compiler: CompileWorker, state: CaseState, settings: Settings) -> Owners | None:
    """The owners of a case's planned peak; None where its framework gives none."""
    return compiler.compile(CompileRequest(state.case, HOST, owners=True), settings).static.owners


def changed_owners(before: Owners | None, now: Owners | None, figure: str) -> list[OwnerChange]:
    """The buffers that are new or larger, of the kinds that a figure counts."""
    if before is None or now is None:
        return []
    kinds = KINDS.get(figure, ())
    larger = (change for change in owner_changes(before, now) if change.bytes > 0)
    return [change for change in larger if change.now is not None and change.now.kind in kinds]
