"""Triton kernels in torch calls: on CUDA like torch, on the cpu interpreted by Triton and untimed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.core.static_figures import Static
from harness.worker.frameworks.base import Bind, TraceLimits
from harness.worker.frameworks.torch.framework import Torch
from harness.worker.frameworks.triton.environment import prepare_environment

UNSEEN = {
    "flops": "what the kernel {} computes is counted by nobody; the family's formula stands beside it",
    "bytes_accessed": "what the kernel {} reads and writes is counted by nobody",
    "program": "the program of the kernel {} is compiled for a GPU alone, and is in no trace",
}


def without_kernel_figures(static: Static, kernels: Sequence[str]) -> Static:
    """The figures of a traced call without those that depend on its kernels, which the trace cannot see."""
    reasons = {figure: reason.format(kernels[0]) for figure, reason in UNSEEN.items()}
    return dataclasses.replace(
        static,
        flops=None,
        flops_source=None,
        program=None,
        custom_calls=tuple(dict.fromkeys(kernels)),
        unavailable={**static.unavailable, **reasons},
    )


class Triton(Torch):
    def start(self, device: str, threads: int, *, wide: bool) -> None:
        prepare_environment(interpret=device == "cpu")
        super().start(device, threads, wide=wide)
        if device == "cpu":
            from harness.worker.frameworks.triton.bf16 import interpret_bf16_by_value
            from harness.worker.frameworks.triton.launches import interpret_first_configurations

            interpret_bf16_by_value()
            interpret_first_configurations()

    def trace(self, bind: Bind, fake: Callable[[], Mapping[str, Any]], limits: TraceLimits) -> Static:
        """The figures of a call without its kernels' work: launches are recorded instead of made."""
        from harness.worker.frameworks.triton.launches import record_launches

        with record_launches(compiling=False) as recorder:
            static = super().trace(recorder.of_timed_call(bind), fake, limits)
        if not recorder.launches:
            return static
        return without_kernel_figures(static, [launch.kernel for launch in recorder.launches])
