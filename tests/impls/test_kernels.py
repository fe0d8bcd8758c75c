"""Kernels of Triton and Pallas, interpreted on the cpu by `seqsweep run` as a user runs them."""

import json
import os
from pathlib import Path

import pytest
import yaml

from harness import Unsupported
from impls.topk.exact.triton_two_stage import _even, triton_two_stage
from impls.topk.family import TopkWorkload
from tests.cli.forked import call_forked
from tests.impls.interpreted import KERNELS

FLAGS = ("seq", "mode", "timeout")  # the others are fields of the workload


def cases():
    for case in yaml.safe_load(Path(__file__).with_name("kernels.yaml").read_text()):
        impl, refused = case.pop("impl"), case.pop("refused", None)
        marks = [pytest.mark.full if "full" in case else pytest.mark.long]
        count = case.pop("full", None) or case.pop("cases")
        if "triton" in impl:
            marks += KERNELS
        else:
            marks += [pytest.mark.jax]
        shown = "-".join(f"{name}={value}" for name, value in case.items())
        yield pytest.param(impl, case, count, refused, id=f"{impl}-{shown}", marks=marks)


@pytest.mark.parametrize(("impl", "axes", "count", "refused"), [*cases()])
def test_interpreted_a_kernel_keeps_its_contract(tmp_path, impl, axes, count, refused):
    """As many cases as expected, planned since an interpreter has no time, each within its contract."""
    family, _, names = impl.partition("/")
    command = ["run", family, "--impl", names, "--json"]
    for name, value in axes.items():
        text = str(value).lower() if isinstance(value, bool) else value
        command += [f"--{name}", f"{value}"] if name in FLAGS else ["--set", f"{name}={text}"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    _, out, err = call_forked(tmp_path, command, environment, seconds=600)
    assert "Traceback" not in err, err
    records = json.loads(out)["records"]
    assert len(records) == count
    for record in records:
        if refused:
            assert record["status"] == "unsupported"
            assert refused in record["reason"]
        else:
            assert record["status"] == "planned", (record["workload"], record["reason"])
            assert record["correctness"]["passed"], record["workload"]


def test_every_slice_of_a_row_holds_as_many_scores_as_are_kept():
    for seq in (601, 1201, 1799, 5000, 99991):
        w = TopkWorkload(seq=seq, topk=300)
        size = _even(w, 600)
        slices = -(-seq // size)
        assert seq - (slices - 1) * size >= w.topk
    with pytest.raises(Unsupported, match="use 600 or more"):
        triton_two_stage(TopkWorkload(seq=5000, topk=300), columns=599)
