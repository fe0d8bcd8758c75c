"""The compilation stage: start workers, compile concurrently, and settle cases that cannot run."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from threading import Event
from typing import Any

from harness.core.errors import Unsupported
from harness.core.remedy import Remedy
from harness.run.case.case_state import CaseState, CompiledPlan
from harness.run.group.group_context import GroupContext
from harness.run.group.stopping import longest_baseline_call
from harness.run.processes.executor import Ended

TRACE_SECONDS = 10.0  # a trace over fake tensors that takes longer is abandoned


def compile_case(context: GroupContext, state: CaseState) -> None:
    """Compile a case; settle it if a shorter one did not compile, or if it was edited or cannot fit."""
    skip = context.run.predictor.inferred_skip(state.case, compiling=True)
    if skip:
        context.settle(state, "skipped", skip)
    elif _start(context, state) and _compile(context, state):
        _settle_if_edited(context, state)
        _settle_if_infeasible(context, state)


def compile_again(context: GroupContext, state: CaseState) -> None:
    """Compile a case with known figures again, in a new process."""
    if _start(context, state) and _prepare(context, state, trace_s=0.0) is not None:
        _settle_if_edited(context, state)


def _start(context: GroupContext, state: CaseState) -> bool:
    clock = context.run.clock
    context.run.listener.case_state(state.id, "compile")
    start = clock()
    try:
        with context.count_time("startup"):
            state.worker = context.spawn("case", state.info.framework, state)
    except (Unsupported, Ended) as end:
        context.settle_ended(state, end)
    state.wall_s += clock() - start
    return state.unsettled


def _compile(context: GroupContext, state: CaseState) -> bool:
    trace_s = min(TRACE_SECONDS, context.settings.timeout_s / 4)
    answer = _prepare(context, state, trace_s=trace_s)
    if answer is None:
        return False
    state.compiled = True
    state.plan = CompiledPlan.of(answer, state.info.framework, context.memory_limit)
    return True


def _prepare(context: GroupContext, state: CaseState, *, trace_s: float) -> Mapping[str, Any] | None:
    """Let the case's process compile; its reply, or None if that settled the case."""
    answer = context.ask(state, "compile", "prepare", trace_s=trace_s)
    if answer is not None:
        context.reattribute(answer["startup_s"], "compile", "startup")
    return answer


def _settle_if_edited(context: GroupContext, state: CaseState) -> None:
    """Settle a case if its source file has changed since the run started."""
    sources = context.run.sources
    if sources and (why := sources.changed(state.case.implementation)):
        context.settle(state, "skipped", why)


def _settle_if_infeasible(context: GroupContext, state: CaseState) -> None:
    """Settle a case that cannot fit the memory limit, or cannot finish within its budget."""
    run, settings = context.run, context.settings
    if not state.unsettled:
        return
    too_large = state.plan.too_large(context.memory_limit)
    if too_large:
        context.settle(state, "oom", too_large)
        return
    skip, remedy = run.predictor.inferred_skip(state.case), ""
    if run.depth == "run" and not skip:
        longest_s = longest_baseline_call(settings.budget_s) if state.baseline else settings.budget_s
        skip, remedy = run.predictor.over_budget(state.case, longest_s), Remedy.MORE_BUDGET
    if skip:
        context.settle(state, "skipped", skip, remedy)


def run_concurrently(works: Sequence[Iterable[object]], end_steps: Callable[[], None] = lambda: None) -> None:
    """Consume each iterable in a thread. After an error or Ctrl-C, all stop after their current step.

    `end_steps` is then called. It can make current steps fail, to end a long one early.
    """
    stopped = Event()

    def exhaust(work: Iterable[object]) -> None:
        for _ in work:
            if stopped.is_set():
                break

    with ThreadPoolExecutor(max(1, len(works))) as pool:
        threads = [pool.submit(exhaust, work) for work in works]
        try:
            wait(threads, return_when=FIRST_EXCEPTION)
        finally:  # also at Ctrl-C, which only the main thread sees
            stopped.set()
            if not all(thread.done() for thread in threads):
                end_steps()
    for thread in threads:
        thread.result()
