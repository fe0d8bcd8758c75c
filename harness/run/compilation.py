"""The first stage of a case: start its process, compile, and decide from the figures whether it may run."""

from __future__ import annotations

from harness.core.errors import Unsupported
from harness.run.case_state import CaseState
from harness.run.group_context import GroupContext
from harness.run.processes.executor import Ended

TRACE_SECONDS = 10.0  # a trace over fake tensors that takes longer is abandoned


def compile_case(sitting: GroupContext, member: CaseState) -> None:
    """Compile a case that may compile; decide it when its plan, or what is known, forbids to run it."""
    context = sitting.context
    hopeless = context.prediction.inferred(member.case, compiling=True)
    if hopeless:
        sitting.settle(member, "skipped", hopeless)
    elif _start(sitting, member) and _compile(sitting, member) and context.depth != "static":
        _admit(sitting, member)


def _start(sitting: GroupContext, member: CaseState) -> bool:
    clock = sitting.context.clock
    sitting.context.listener.case_state(member.id, "compile")
    start = clock()
    try:
        with sitting.spending("startup"):
            member.worker = sitting.spawn("case", member.info.framework, member)
    except Unsupported as refusal:
        sitting.settle(member, "unsupported", str(refusal))
    except Ended as end:
        sitting.settle(member, end.status, end.reason)
    member.wall_s += clock() - start
    return member.living


def _compile(sitting: GroupContext, member: CaseState) -> bool:
    context, settings = sitting.context, sitting.settings
    forked_s = member.wall_s
    trace_s = min(TRACE_SECONDS, settings.timeout_s / 4)
    answer = sitting.ask(member, "compile", "prepare", trace_s=trace_s)
    if answer is None:
        return False
    context.spent["compile"] -= answer["startup_s"]
    context.spent["startup"] += answer["startup_s"]
    context.startups_s.append(forked_s + answer["startup_s"])
    member.take_prepared(answer, settings.memory_bytes)
    return True


def _admit(sitting: GroupContext, member: CaseState) -> None:
    """What cannot fit, or cannot finish, is not tried."""
    context, settings = sitting.context, sitting.settings
    too_large = member.too_large(settings.memory_bytes)
    if too_large:
        sitting.settle(member, "oom", too_large)
        return
    skip = context.prediction.inferred(member.case)
    if context.depth == "run":
        skip = skip or context.prediction.over_budget(member.case, member.work, settings.budget_s)
    if skip:
        sitting.settle(member, "skipped", skip)
