"""The kernels that a case runs: named by a profiled call after its samples, on CUDA."""

from harness.core.errors import Unsupported
from harness.run.case.case_state import CaseState, KernelsRun
from harness.run.group.group_context import GroupContext
from harness.run.processes.executor import Ended


def name_kernels(context: GroupContext, state: CaseState) -> None:
    """Name the kernels of one call. A failure, even of its process, costs a case none of its figures."""
    if state.case.device != "cuda":
        return
    context.run.listener.case_state(state.id, "kernels")
    try:
        answer = context.ask_or_raise(state, "kernels", "kernels")
    except (Unsupported, Ended) as end:
        state.kernels = KernelsRun(unknown=str(end))
        return
    state.kernels = KernelsRun(tuple(map(tuple, answer["kernels"])), answer["refused"])
