"""Pallas kernels in jax calls: on an accelerator like jax, on the cpu interpreted and untimed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from jax.experimental.pallas import tpu as pltpu

from harness.catalog.arrays import Shapes
from harness.core.static_figures import Static
from harness.worker.frameworks.base import Function, Names, Prepared, TraceLimits
from harness.worker.frameworks.jax.framework import Jax

INTERPRETED = "the program of the cpu is an interpreter's, {} plans the kernels'"
TPU = "with a TPU's memories and transfers; seqsweep static --target tpu:v5p"
PLAIN = (
    "without a TPU's memories, which its interpreter does not know for these kernels; "
    "seqsweep static --target cuda:h100, or tpu:v5p,"
)


class Pallas(Jax):
    """On the cpu kernels run in the TPU interpreter, else in the plain one.

    The TPU interpreter detects reads that are uninitialised, out of bounds, or race with a transfer. In
    jax 0.10.2 it supports neither kernels for GPUs nor those that vmap gave another grid dimension. The plain
    interpreter, which runs each grid step as jax, supports both.
    """

    def enter(self, mode: str, *, wide: bool) -> None:
        super().enter(mode, wide=wide)
        pltpu.reset_tpu_interpret_mode_state()  # a failed kernel leaves it inconsistent

    def prepare(
        self, function: Function, names: Names, shapes: Shapes, mode: str, limits: TraceLimits
    ) -> Prepared:
        if self.device.platform != "cpu":
            return super().prepare(function, names, shapes, mode, limits)
        call = function, names, shapes, mode, limits
        try:
            return self._prepare_interpreted(pltpu.InterpretParams(), TPU, call)
        except (AssertionError, NotImplementedError, ValueError):  # a refusal; a kernel's own error recurs
            return self._prepare_interpreted(True, PLAIN, call)

    def _prepare_interpreted(self, params: Any, semantics: str, call: tuple[Any, ...]) -> Prepared:
        with pltpu.force_tpu_interpret_mode(params):
            prepared = super().prepare(*call)
        return replace(prepared, static=Static.none(INTERPRETED.format(semantics)))
