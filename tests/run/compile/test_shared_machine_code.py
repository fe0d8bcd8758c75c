"""Kernels of one compute capability are compiled and cached once, and have waves for each device."""

import dataclasses
from contextlib import closing

import pytest

from harness.catalog.accelerators import target
from harness.cubin.machine_code import with_waves
from harness.run.compile import CompileRequest, Pool
from tests.records import kernel_of
from tests.run.compile.fakes import SETTINGS, FakeLane, answer, case

KERNEL = kernel_of(grid=(396,), blocks_per_sm=1)
A100, H100, H200, SM_90 = "cuda:a100", "cuda:h100", "cuda:h200", "cuda:sm_90"


def answer_with_kernels(request):
    plain = answer()
    kernels = (with_waves(KERNEL, target(request.target)),)
    return dataclasses.replace(plain, static=dataclasses.replace(plain.static, kernels=kernels))


def compile_targets(catalog, results, lane, *targets, implementation="mask/triton_scatter"):
    lane.acts = {(implementation, 1024, name): answer_with_kernels for name in targets}
    with closing(Pool(catalog, results, [lane])) as pool:
        for name in targets:
            pool.submit(CompileRequest(case(implementation), name), SETTINGS)
        answers = [pool.next_result() for _ in targets]
    return {request.target: said for request, said in answers}


def test_targets_of_one_capability_share_a_compilation(catalog, tmp_path):
    lane = FakeLane()
    told = compile_targets(catalog, tmp_path, lane, A100, H100, H200, SM_90)
    assert [name for _, _, name in lane.compiled] == [A100, H100]
    waves = {name: said.static.kernels[0].waves for name, said in told.items()}
    assert waves == {A100: pytest.approx(396 / 108), H100: 3.0, H200: 3.0, SM_90: None}
    assert told[SM_90].static.kernels[0].unavailable["waves"].endswith("of cuda:sm_90 is unknown")
    assert told[SM_90].static.fits is None


def test_xla_plans_for_each_device(catalog, tmp_path, monkeypatch):
    monkeypatch.setattr("harness.run.compile.pool.why_not_by_xla", lambda _: None)
    lane = FakeLane()
    compile_targets(catalog, tmp_path, lane, H100, H200, implementation="mask/scatter")
    assert len(lane.compiled) == 2
