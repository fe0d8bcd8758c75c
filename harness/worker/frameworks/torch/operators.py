"""The operators of one torch call: self time by torch's profiler, and the bytes they read and write."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from harness.core.errors import Unsupported
from harness.core.record import OperatorFigures
from harness.core.stage import SCOPE, recording
from harness.worker.frameworks.torch.stage_counts import operator_bytes


def trace_operators(
    call: Callable[[], Any], sync: Callable[[Any], None], trace: Path | None
) -> list[OperatorFigures]:
    """The self time of each operator in one call; another call counts the bytes."""
    activities = [ProfilerActivity.CPU]
    on_device = torch.cuda.is_initialized()  # not is_available(), which calls cuInit
    if on_device:
        activities.append(ProfilerActivity.CUDA)
    with profile(activities=activities) as profiler, recording(lambda name: record_function(SCOPE + name)):
        sync(call())
    if trace is not None:
        profiler.export_chrome_trace(str(trace))
    microseconds: dict[tuple[str, str], list[float]] = defaultdict(list)
    for event in profiler.events() or ():
        if event.device_type.name == "CPU" and not event.name.startswith(SCOPE):
            own = event.self_device_time_total if on_device else event.self_cpu_time_total
            microseconds[event.name, _stage(event)].append(own)
    sizes = operator_bytes(call)
    return [
        OperatorFigures(name, stage, sum(own) * 1e-6, len(own), sizes.get((name, stage)))
        for (name, stage), own in microseconds.items()
        if sum(own) > 0
    ]


def kernels_of(call: Callable[[], Any], sync: Callable[[Any], None]) -> list[str]:
    """The names of the kernels, copies and fills that one call runs on a GPU, in order."""
    if not torch.cuda.is_initialized():
        raise Unsupported("it ran on no GPU")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        sync(call())
    on_device = [
        event
        for event in profiler.events() or ()
        if event.device_type.name == "CUDA" and not event.is_user_annotation
    ]
    if not on_device:
        raise Unsupported("torch's profiler has no events of the GPU; CUPTI may be denied to it, or in use")
    return [event.name for event in sorted(on_device, key=lambda event: event.time_range.start)]


def _stage(event: Any) -> str:
    """The stage in which an event lies, as `selected/mask`."""
    names: list[str] = []
    while (event := event.cpu_parent) is not None:
        if event.name.startswith(SCOPE):
            names.insert(0, event.name.removeprefix(SCOPE))
    return "/".join(names)
