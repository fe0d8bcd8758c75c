"""Figures for absent hardware, compared with those of an independent script that uses only jax.

Exact for jaxlib 0.10.2; other versions plan otherwise.
"""

from importlib.metadata import version
from pathlib import Path

import pytest

from harness.catalog import discovery
from harness.catalog.accelerators import missing_compiler
from harness.core.case import Case
from harness.run.compile import CompileRequest, compile_all
from harness.sweep.settings import Settings

pytestmark = [pytest.mark.jax, pytest.mark.full]
ROOT = Path(__file__).resolve().parents[2]
MIB, GIB = 2**20, 2**30
MASK = {"batch": 1, "dtype": "f32", "rows": 1024, "seq": 131072, "topk": 2048}
TOPK = {**MASK, "distribution": "iid", "recall": 0.95}


def asks(*wanted):
    return [CompileRequest(Case.of(name, {}, workload), target) for name, workload, target in wanted]


def compile_both(wanted, results=ROOT / "results"):
    """{(implementation, target): figures}; every process has a limit of 4 GiB.

    Programs that the claims also need are compiled once: an answer's key contains all that it depends on.
    """
    if version("jaxlib") != "0.10.2":
        pytest.skip("these figures are jaxlib 0.10.2's")
    for kind in {ask.target.split(":")[0] for ask in wanted} - {"host"}:
        if missing_compiler(kind):
            pytest.skip(missing_compiler(kind))
    limits = Settings(timeout_s=300.0, memory_bytes=2 * GIB, threads=2)
    told = compile_all(wanted, discovery.catalog(), results=results, settings=limits)
    assert {answer.status for answer in told.values()} == {"ok"}, [a.reason for a in told.values()]
    return {(ask.case.implementation, ask.target): answer.static for ask, answer in told.items()}


@pytest.mark.long
def test_a_tpu_v5p():
    figures = compile_both(
        asks(
            ("mask/broadcast", MASK, "tpu:v5p"),
            ("mask/scatter", MASK, "tpu:v5p"),
            ("topk/exact", TOPK, "tpu:v5p"),
            ("topk/approx", TOPK, "tpu:v5p"),
        )
    )
    broadcast, scatter, exact, approx = figures.values()
    assert (broadcast.flops, broadcast.temp_bytes) == (549755813888.0, 128 * MIB)
    assert (broadcast.peak_bytes, broadcast.bytes_accessed) == (679477248, 813694976.0)
    assert scatter.temp_bytes == pytest.approx(528 * MIB, abs=MIB)
    assert exact.temp_bytes == pytest.approx(1536 * MIB, abs=MIB)
    assert approx.temp_bytes == pytest.approx(768 * MIB, abs=MIB)
    assert "PartialReduce" in approx.custom_calls
    assert "PartialReduce" not in exact.custom_calls
    assert all(one.fits for one in figures.values())


def test_programs_larger_than_the_machine_are_planned_within_4_gib(tmp_path):
    """Inputs and outputs of a terabyte and more, which cannot be allocated."""
    huge = {**MASK, "rows": 1 << 18, "seq": 1 << 20}
    figures = compile_both(
        asks(
            ("mask/threshold_raw", huge, "host"),
            ("mask/threshold_raw", huge, "cuda:h200"),
            ("mask/threshold_raw", {**huge, "rows": 1 << 12}, "tpu:v5p"),
        ),
        tmp_path,
    )
    host, gpu, tpu = figures.values()
    assert host.output_bytes == gpu.output_bytes == 4 << 38
    assert (host.fits, gpu.fits) == (False, False)
    assert tpu.fits is True


def test_out_of_memory_at_compile_time_is_a_result_with_the_compilers_message(tmp_path):
    huge = {**MASK, "rows": 1 << 18, "seq": 1 << 20}
    (figures,) = compile_both(asks(("mask/threshold_raw", huge, "tpu:v5e")), tmp_path).values()
    assert figures.fits is False
    assert "ran out of the device's memory" in figures.unavailable["temp_bytes"]
    assert "G" in figures.unavailable["temp_bytes"]
