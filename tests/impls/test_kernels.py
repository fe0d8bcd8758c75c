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
    done = subprocess.run(
        [sys.executable, "-m", "tests.impls.shuffled_programs", form, sums, str(orders)],
        cwd=ROOT,
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"output": 1, "q": 1, "k": of_keys, "v": of_keys, "gates": 1}


def test_every_slice_of_a_row_holds_as_many_scores_as_are_kept():
    for seq in (601, 1201, 1799, 5000, 99991):
        w = TopkWorkload(seq=seq, topk=300)
        size = _even(w, 600)
        assert seq - (-(-seq // size) - 1) * size >= w.topk
