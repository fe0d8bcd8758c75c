"""Bounds of stages whose work and peaks are known."""

from dataclasses import replace

import pytest

from harness.analysis.roofline import UNMEASURED
from harness.core.static_figures import StageWork, Static
from harness.profile.planned_stages import plan_stages, planned_data, print_planned, sentences
from harness.report.console import TextConsole
from tests.profile.test_stage_times import K, profiled
from tests.rooflines import KI, MI, machine

WORK = (
    StageWork("", 1, 2, 0, 4 * 64 * MI),
    StageWork("product", 4, 4, 10**12, 4 * 64 * MI),
    StageWork("product/mask", 1024, 8, 0, 1024 * 512 * KI),
)
KNOWN = {"here": machine(f32=1e11, bf16=2e11)}


def planned(dtype="bf16", targets=("host", "cuda:h200"), rooflines=KNOWN, stages=WORK):
    record = replace(profiled(K, {"": 1.0}), profile=None, timing=None, fingerprint="here")
    static = {"host": replace(Static.none("traced"), stages=stages)}
    workload = {**record.workload, "dtype": dtype}
    return plan_stages(replace(record, workload=workload, static=static), targets, rooflines)


def test_each_stage_takes_at_least_what_binds_it():
    """The machine's streams: 1e10 B/s beyond its caches and 8e10 in its 1 MiB; an H200: 989e12 and 4.8e12."""
    case = planned()
    host, h200 = ([bounds[name] for _, bounds in case.stages] for name in ("host", "cuda:h200"))
    assert [work.stage for work, _ in case.stages] == ["product", "product/mask", ""]  # the residual is last
    assert [bound.binds for bound in host] == ["compute", "L2", "DRAM"]
    seconds = [10**12 / 2e11, 512 * MI / 8e10, 4 * 64 * MI / 1e10]
    assert [bound.seconds for bound in host] == pytest.approx(seconds)
    assert [bound.share for bound in host] == pytest.approx([each / sum(seconds) for each in seconds])
    assert [bound.binds for bound in h200] == ["compute", "memory", "memory"]
    assert h200[0].seconds == pytest.approx(10**12 / 989e12)
    assert h200[2].seconds == pytest.approx(4 * 64 * MI / 4.8e12)


def test_a_target_without_peaks_says_why_and_the_others_stand():
    case = planned("f32", rooflines={})
    assert [bounds for _, bounds in case.stages] == [{}] * 3
    assert case.missing["host"] == UNMEASURED
    assert case.missing["cuda:h200"] == "no peak of cuda:h200 is documented for f32 (it has bf16, f16)"
    assert planned("f32").sources.keys() == {"host"}
    alone = planned(targets=("cuda:sm_90",)).missing
    assert alone == {"cuda:sm_90": "cuda:sm_90 is no device; name one, as in --target cuda:h100"}
    assert [text.split(":")[0] for text in sentences(case)] == ["host", "cuda"]


def test_stages_without_any_work_have_bounds_and_shares_of_zero(capsys):
    case = planned(stages=(StageWork("", 1, 0, 0, 0), StageWork("reshape", 1, 2, 0, 0)))
    bounds = [bound for _, by_target in case.stages for bound in by_target.values()]
    assert [(bound.seconds, bound.share) for bound in bounds] == [(0.0, 0.0)] * 4
    print_planned(TextConsole(width=160), [case])
    assert "the bounds add up to 0" in capsys.readouterr().out


def test_what_has_no_stages_has_no_plan():
    assert planned(stages=()) is None


def test_the_table_has_a_row_for_each_stage_and_a_label_for_each_bound(capsys):
    print_planned(TextConsole(width=160), [planned()])
    out = capsys.readouterr().out
    rows = {words[0]: words for line in out.splitlines() if (words := line.split())}
    assert rows["product/mask"][-3:] == ["9.5", "%", "memory"]
    assert "a lower bound by roofline, not a time" in out
    (data,) = planned_data([planned()])
    assert data["peaks"] == {"host": "measured ceilings, products of bf16", "cuda:h200": "datasheet"}
    assert data["stages"][0]["bounds"]["host"]["binds"] == "compute"
