"""Kernels of Triton and Pallas, interpreted on the CPU by `seqsweep run` or `check` as a user runs them."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from impls.topk.exact.triton_two_stage import _even
from impls.topk.family import TopkWorkload
from tests.cli.forked import ROOT, call_forked

NO_TRITON = pytest.mark.skipif(find_spec("triton") is None, reason="the extra triton is not installed")
FLAGS = ("seq", "mode", "timeout")  # the others are fields of the workload


def cases():
    for axes in yaml.safe_load(Path(__file__).with_name("kernels.yaml").read_text()):
        impl, checks = axes.pop("impl"), axes.pop("checks", False)
        marks = [pytest.mark.full if "full" in axes else pytest.mark.long]
        marks += [pytest.mark.torch, NO_TRITON] if "triton" in impl else [pytest.mark.jax]
        count = axes.pop("full", None) or axes.pop("cases")
        shown = "-".join(f"{name}={value}" for name, value in axes.items())
        yield pytest.param(impl, axes, count, checks, id=f"{impl}-{shown}", marks=marks)


@pytest.mark.parametrize(("impl", "axes", "count", "checks"), [*cases()])
def test_interpreted_a_kernel_keeps_its_contract(tmp_path, impl, axes, count, checks):
    """As many cases as expected, each within its contract: planned, since an interpreter has no time."""
    family, _, names = impl.partition("/")
    command = ["check" if checks else "run", family, "--impl", names, "--json"]
    axes.setdefault("timeout", 500)  # seconds: a busy machine decides nothing
    for name, value in axes.items():
        text = str(value).lower() if isinstance(value, bool) else value
        command += [f"--{name}", f"{value}"] if name in FLAGS else ["--set", f"{name}={text}"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    _, out, err = call_forked(tmp_path, command, environment, seconds=600)
    assert "Traceback" not in err, err
    records = json.loads(out)["records"]
    assert len(records) == count
    for record in records:
        assert record["status"] == ("ok" if checks else "planned"), (record["workload"], record["reason"])
        assert record["correctness"]["passed"], record["workload"]
        assert bool(record["checks"]) == checks


def run_interpreted(module, *words):
    """What a module that interprets kernels in a process of its own prints."""
    done = subprocess.run(
        [sys.executable, "-m", f"tests.impls.{module}", *words],
        cwd=ROOT,
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("form", "sums", "orders", "of_keys"),
    [
        ("triton_nsa", "lists", 20, 1),
        ("triton_nsa_paper", "lists", 20, 1),
        ("triton_nsa", "atomic", 3, 3),  # several programs add only to the gradients of keys
    ],
)
@pytest.mark.long
@NO_TRITON
def test_only_sums_by_atomics_depend_on_the_order_of_programs(form, sums, orders, of_keys):
    found = run_interpreted("shuffled_programs", form, sums, str(orders))
    assert found == {"output": 1, "q": 1, "k": of_keys, "v": of_keys, "gates": 1}


@pytest.mark.torch
@pytest.mark.full
@NO_TRITON
def test_top_k_reads_scores_twice_and_any_order_of_programs_gives_the_same_answer():
    """Only rows of different scores in one bin are read once more per byte in which they differ."""
    found = run_interpreted("topk_programs", "triton_radix_select", "3")
    for kind, of_kind in found.items():
        assert (of_kind["answers"], of_kind["wrong"]) == (1, 0), kind
    reads = {kind: of_kind["reads"] for kind, of_kind in found.items()}
    assert max(reads[kind] for kind in ("normal", "tied", "equal", "masked")) < 3
    assert reads["one_bin"] < 7  # three bytes
    assert reads["tiny"] < 8  # all four


@pytest.mark.torch
@pytest.mark.full
@NO_TRITON
def test_picks_do_not_depend_on_how_the_work_is_divided():
    for programs, wrong in run_interpreted("divided_selection").items():
        assert wrong == {"by mean query": 0, "by each query": 0}, programs


SMALL = {"heads": 2, "kv_heads": 1, "head_dim": 16, "dtype": "f32", "selected": 3, "window": 21}
PARTIAL = {**SMALL, "tile": 256, "block": 16}  # whole programs of the last tile have no queries
STRAYS = (
    ["triton_nsa", {**PARTIAL, "seq": 80}, {}],
    ["triton_nsa", {**PARTIAL, "seq": 80}, {"atomic": True, "fused": False}],
    ["triton_nsa", {**PARTIAL, "seq": 272, "tile": 48}, {}],
    ["triton_nsa_paper", {**SMALL, "seq": 45, "block": 8, "kernel": 4, "stride": 2}, {}],
    ["triton_nsa_fla", {**SMALL, "seq": 45, "block": 8}, {"atomic": True}],
    ["triton_flash", {**SMALL, "seq": 129, "gated": False}, {}],
)


@pytest.mark.torch
@pytest.mark.full
@NO_TRITON
def test_no_kernel_reads_or_writes_outside_its_tensors():
    assert run_interpreted("stray_accesses", json.dumps(STRAYS)) == [{}] * len(STRAYS)


def test_every_slice_of_a_row_holds_as_many_scores_as_are_kept():
    for seq in (601, 1201, 1799, 5000, 99991):
        w = TopkWorkload(seq=seq, topk=300)
        size = _even(w, 600)
        assert seq - (-(-seq // size) - 1) * size >= w.topk
