"""Owners of the planned peak, on both sides of a case whose planned memory has increased.

Only such a case is compiled again for them: the verdict rests on the figures, the owners show where to look.
"""

from collections.abc import Mapping
from contextlib import closing

from harness.analysis.owner_changes import OwnerChange, owner_changes
from harness.core.errors import Unsupported
from harness.core.peak_owners import Owners
from harness.core.plain_data import from_plain
from harness.core.static_figures import Static
from harness.run.case.case_state import CaseState
from harness.run.group.group_context import GroupContext
from harness.run.processes.executor import Ended

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


def plan_owners(context: GroupContext, state: CaseState) -> Owners | None:
    """The owners of a case's planned peak; None where its framework gives none."""
    job = context.job("case", state.info.framework, state)
    seconds = context.settings.timeout_s
    context.folder.mkdir(parents=True, exist_ok=True)
    try:
        with closing(context.run.executor.spawn(job, context.settings.memory_bytes)) as worker:
            answer = worker.ask("prepare", seconds, trace_s=seconds / 2, owners=True)
            return from_plain(Static, answer["static"]).owners
    except (Unsupported, Ended):
        return None
    finally:
        context.close()


def changed_owners(before: Owners | None, now: Owners | None, figure: str) -> list[OwnerChange]:
    """The buffers that are new or larger, of the kinds that a figure counts."""
    if before is None or now is None:
        return []
    kinds = KINDS.get(figure, ())
    larger = (change for change in owner_changes(before, now) if change.bytes > 0)
    return [change for change in larger if change.now is not None and change.now.kind in kinds]
