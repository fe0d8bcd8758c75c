"""Triton kernels in torch calls: on CUDA like torch, on the cpu interpreted by Triton and not timed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.core.static_figures import Static
from harness.worker.frameworks.base import Bind, TraceLimits
from harness.worker.frameworks.torch.framework import Torch
from harness.worker.frameworks.triton.environment import prepare_environment

UNAVAILABLE = {
    "flops": "the FLOPs of kernel {} are not counted; see the family's formula",
    "bytes_accessed": "the bytes accessed by kernel {} are not counted",
    "program": "kernel {} is compiled only for GPUs, so a trace does not contain its program",
}


def without_kernel_figures(static: Static, kernels: Sequence[str]) -> Static:
    """Remove the figures that depend on kernels, which a trace cannot see."""
    reasons = {figure: reason.format(kernels[0]) for figure, reason in UNAVAILABLE.items()}
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
        """Static figures of a call, without its kernels' work: launches are recorded, not executed."""
        from harness.worker.frameworks.triton.launches import record_launches

        with record_launches(compiling=False) as recorder:
            static = super().trace(recorder.of_timed_call(bind), fake, limits)
        if not recorder.launches:
            return static
        return without_kernel_figures(static, [launch.kernel for launch in recorder.launches])
