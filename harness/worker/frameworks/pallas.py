"""Pallas kernels in jax calls: on an accelerator like jax, on the cpu interpreted and not timed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from jax.experimental.pallas import tpu as pltpu

from harness.catalog.arrays import Shapes
from harness.core.static_figures import Static
from harness.worker.frameworks.base import Function, Names, Prepared, TraceLimits
from harness.worker.frameworks.jax.framework import Jax

INTERPRETED = "the cpu's program is that of an interpreter {}"
TPU = "that simulates a TPU's memories; for the kernels' plan, run seqsweep static --target tpu:v5p"
PLAIN = (
    "without a TPU's memories, because the TPU interpreter does not support these kernels; "
    "for the kernels' plan, run seqsweep static --target cuda:h100 or tpu:v5p"
)


class Pallas(Jax):
    """Pallas kernels, which run on the cpu in the TPU interpreter or, if that fails, in the plain one.

    The TPU interpreter detects reads that are uninitialised, out of bounds, or race with a transfer. In jax
    0.10.2 it does not support GPU kernels, or kernels to which vmap added a grid dimension. The plain
    interpreter, which runs each grid step as jax, supports both.
    """

    def enter(self, mode: str, *, wide: bool) -> None:
        super().enter(mode, wide=wide)
        pltpu.reset_tpu_interpret_mode_state()  # inconsistent after a failed kernel

    def prepare(
        self, function: Function, names: Names, shapes: Shapes, mode: str, limits: TraceLimits
    ) -> Prepared:
        if self.device.platform != "cpu":
            return super().prepare(function, names, shapes, mode, limits)
        call = function, names, shapes, mode, limits
        try:
            return self._prepare_interpreted(pltpu.InterpretParams(), TPU, call)
        except (AssertionError, NotImplementedError, ValueError):  # a kernel's own error is raised again
            return self._prepare_interpreted(True, PLAIN, call)

    def _prepare_interpreted(self, params: Any, semantics: str, call: tuple[Any, ...]) -> Prepared:
        with pltpu.force_tpu_interpret_mode(params):
            prepared = super().prepare(*call)
        return replace(prepared, static=Static.none(INTERPRETED.format(semantics)))
