"""Records built by hand: every number of them is known before anything is computed from it."""

from collections.abc import Sequence
from typing import Any

from harness.core.case import Case
from harness.core.kernel_figures import KernelFigures, TpuKernelFigures
from harness.core.median_interval import median_interval
from harness.core.record import Correctness, Record, Timing
from harness.core.static_figures import STATIC_FIGURES, Static

RUN = "20261120T113000Z-1a2b3c4"
PASSED = Correctness("exact", True, "whole", {"mismatches": 0})
FAILED = Correctness("exact", False, "whole", {"mismatches": 12})


def timing_of(samples: Sequence[float], rounds: Sequence[int] | None = None, **more: Any) -> Timing:
    """A timing of these samples, one to a round unless said otherwise."""
    numbers = tuple(range(len(samples)) if rounds is None else rounds)
    values = {"method": "wall", "cache": "rotated", "inner": 1, "stopped": "interval", **more}
    return Timing(tuple(samples), numbers, *median_interval(samples), **values)


def static_of(**figures: Any) -> Static:
    """These figures; the others were not counted, or are missing for the reasons in `unavailable`."""
    reasons = figures.pop("unavailable", {})
    missing = {n: reasons.get(n, "not counted") for n in STATIC_FIGURES if figures.get(n) is None}
    if figures.get("flops") is not None:
        figures.setdefault("flops_source", "compiled")
    return Static(unavailable=missing, **figures)


def kernel_of(**changed: Any) -> KernelFigures:
    """A kernel of 168 registers that does not spill, three blocks of four warps on each of 132 SMs."""
    figures = {
        "kernel": "attn", "source": "flash.py:12", "grid": (64, 8), "warps": 4, "registers": 168,
        "spilled_bytes": 0, "shared_bytes": 65536, "tensor_memory_columns": 0, "blocks_per_sm": 3,
        "limiter": "registers", "waves": 1.29, "tail": 0.71, "instructions": {"wgmma": 32, "global": 8},
        "products": 2, "code_bytes": 640, "program": "sha256:1", "occupancy": 0.1875,
    }  # fmt: skip
    return KernelFigures(**{**figures, **changed})


def tpu_kernel_of(**changed: Any) -> TpuKernelFigures:
    """A Pallas kernel that takes 4 MiB of the 16 MiB of VMEM that it gets, in 8 steps."""
    figures = {
        "kernel": "scan", "source": "scan.py:12", "grid": (8,), "steps": 8, "vmem_bytes": 4 << 20,
        "vmem_limit_bytes": 16 << 20, "scratch_bytes": 0, "semaphores": 0, "blocks": (),
        "program": "sha256:1",
    }  # fmt: skip
    return TpuKernelFigures(**{**figures, **changed})


def record_of(name: str, seq: int, *, family: str = "mask", **more: Any) -> Record:
    """A record of `family/name` that is ok unless `more` says otherwise; its case follows from the rest."""
    workload = {"batch": 1, "dtype": "f32", **more.pop("workload", {}), "seq": seq}
    values = {
        "run": RUN, "status": "ok", "semantics": "exact", "framework": "jax", "mode": "fwd", "device": "cpu",
        "options": {}, "seed": 0, **more,
    }  # fmt: skip
    values.setdefault("reason", None if values["status"] == "ok" else "a sentence with a remedy")
    case = Case.of(f"{family}/{name}", values["options"], workload, values["mode"], values["device"])
    return Record(
        case=case.id, family=family, implementation=case.implementation, seq=seq, workload=workload, **values
    )
