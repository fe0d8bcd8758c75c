"""Triton kernels in torch calls: on CUDA as torch is, on the cpu by Triton's own interpreter and untimed."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from harness.core.errors import Unsupported
from harness.core.static_figures import Static
from harness.worker.frameworks.base import Patience
from harness.worker.frameworks.torch.extrapolation import Survey
from harness.worker.frameworks.torch.framework import Torch

MISSING = "Triton is not installed; pip install -e '.[triton]'"
UNCOUNTED = "what the kernel {} computes is counted by nobody; the family's formula stands beside it"
UNTOLD = "the program of the kernel {} is compiled for a GPU alone, and is in no trace"
UNSEEN = "what the kernel {} reads and writes is counted by nobody"


def prepare_environment(*, interpret: bool, cache: Path | None = None) -> None:
    """Set what Triton reads when it is imported. Unsupported where it is not installed."""
    if find_spec("triton") is None:
        raise Unsupported(MISSING)
    # Unset, 3.9 fuses and 3.10 will not: the same kernel would be another program.
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    if cache is not None:
        os.environ["TRITON_CACHE_DIR"] = str(cache)
    if interpret:
        os.environ["TRITON_INTERPRET"] = "1"
        # torch may have imported it before: what it decorated itself then cannot be interpreted. Its machine
        # code stays, which can be loaded once.
        for name in [name for name in sys.modules if name.partition(".")[0] == "triton"]:
            if not name.startswith("triton._C"):
                del sys.modules[name]


def uncounted(static: Static, kernels: Sequence[str]) -> Static:
    """The figures of a traced call without those that kernels have a part in which no trace sees."""
    first = kernels[0]
    return dataclasses.replace(
        static,
        flops=None,
        flops_source=None,
        program=None,
        custom_calls=tuple(dict.fromkeys(kernels)),
        unavailable={
            **static.unavailable,
            "flops": UNCOUNTED.format(first),
            "bytes_accessed": UNSEEN.format(first),
            "program": UNTOLD.format(first),
        },
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

    def trace(
        self,
        bind: Callable[[Mapping[str, Any], Any], Callable[[], Any]],
        fake: Callable[[], Mapping[str, Any]],
        patience: Patience,
        survey: Survey | None = None,
    ) -> Static:
        """Allocations between the launches, which are not made."""
        from harness.worker.frameworks.triton.launches import recorded

        with recorded(compiling=False) as recorder:
            static = super().trace(recorder.of_timed_call(bind), fake, patience, survey)
        if not recorder.launches:
            return static
        return uncounted(static, [launch.kernel for launch in recorder.launches])


FRAMEWORK = Triton()
