"""Cold starts of a case: new processes one after the other, while the group's own are stopped."""

import tempfile
from dataclasses import replace

from harness.core.median_interval import samples_needed
from harness.core.record import ColdStart
from harness.run.case.case_state import CaseState
from harness.run.group.group_context import GroupContext
from harness.run.processes.cold_process import ColdReading
from harness.run.processes.executor import Ended

LATER = 10  # the number of the warm call that is timed; long calls take an earlier one,
LATER_SECONDS = 5.0  # so that the calls before take no longer than this


def measure_cold_starts(context: GroupContext, state: CaseState) -> None:
    """Measure as many as an interval needs, and as many with a filled compiler cache; warn if one fails."""
    run, job = context.run, context.job("case", state.info.framework, state)
    later = max(2, min(LATER, int(LATER_SECONDS / max(state.call.seconds, 1e-9))))

    def readings(count: int, cache: str | None) -> list[ColdReading]:
        taken: list[ColdReading] = []
        for number in range(count):
            run.listener.case_state(state.id, f"{'cache hit' if cache else 'cold start'} {number + 1}")
            with context.count_time("profile"):
                taken.append(run.start_cold(job, context.settings.timeout_s, later, cache))
        return taken

    try:
        cold, cached = readings(samples_needed(), None), list[ColdReading]()
        if "compile" in cold[0].steps:
            with tempfile.TemporaryDirectory(dir=context.folder) as cache:
                cached = readings(1 + samples_needed(), cache)[1:]  # the first one fills it
    except Ended as end:
        state.warn(f"no cold start: {end.reason}")
        return
    if why := run.changed_source(state.case.implementation):
        state.warn(f"no cold start: {why}")
        return
    steps = {step: tuple(each.steps[step] for each in cold) for step in cold[0].steps}
    if cached:
        steps["cache hit"] = tuple(each.steps["cache hit"] for each in cached)
    state.extras = replace(state.extras, cold=ColdStart(steps, cold[0].missing, later))
