"""Planning under torch's CUDA build, which is what users install, without its GPU."""

import re
import shlex

import pytest

from harness.catalog.discovery import builtin
from tests.cli.conftest import call, records
from tests.test_kernels_page import COMMANDS, KERNEL

pytestmark = [pytest.mark.torch, pytest.mark.full, pytest.mark.usefixtures("cuda_build")]
BF16 = "dtype=bf16"
NO_BACKWARD = {"triton_flex", "triton_given_blocks_flex", "triton_select"}
BACKWARD = {
    "triton_flash": BF16,
    "triton_nsa": BF16,
    "triton_nsa_paper": BF16,
    "triton_nsa_fla": f"{BF16},heads=16,kv_heads=1",
    "triton_dsa": f"{BF16},gated=false,indexer_heads=64",
    "triton_given_blocks": f"{BF16},gated=false,stage=given_blocks",
    "triton_compress": f"{BF16},stage=compress",
}


def fields(text):
    return [word for field in text.split(",") for word in ("--set", field)]


def static(folder, *words, targets="cuda:h100", seq="1Ki"):
    return records(folder, "static", *words, "--target", targets, "--seq", seq)


def test_every_triton_implementation_of_attention_is_listed_here():
    known = builtin().implementations.values()
    names = {info.name for info in known if (info.framework, info.family) == ("triton", "attention")}
    assert names == NO_BACKWARD | set(BACKWARD)


@pytest.mark.parametrize("name", BACKWARD)
def test_a_backward_has_its_figures(tmp_path, name):
    """A forward alone is traced over the GPU's fake tensors, with a backward over the cpu's."""
    words = ("attention", "--impl", name, *fields(BACKWARD[name]))
    planned = {record["mode"]: record for record in static(tmp_path, *words, "--mode", "fwd,fwd_bwd")}
    alone, figures = (planned[mode]["static"]["cuda:h100"] for mode in ("fwd", "fwd_bwd"))
    for field in ("argument_bytes", "output_bytes"):  # of both, with the cotangent and the gradients
        assert figures[field] > alone[field] > 0
    first, then = ([kernel["kernel"] for kernel in each["kernels"]] for each in (alone, figures))
    assert then[: len(first)] == first


@pytest.mark.parametrize("family", ["mask", "topk", "offsets", "mla", "attention"])
def test_a_template_is_planned(tmp_path, family):
    assert call(tmp_path, "new", family, "mine", "--framework", "triton").code == 0
    words = (f"{family}/mine", "--plugin", "mine.py", "--mode", "fwd")
    (record,) = static(tmp_path, *words, targets="cuda:sm_80,cuda:sm_90,cuda:sm_100", seq="4Ki")
    assert len(record["static"]) == 3
    assert all(figures["kernels"] and figures["argument_bytes"] for figures in record["static"].values())


def test_a_kernel_of_a_file_is_planned(tmp_path):
    (tmp_path / "flash.py").write_text(KERNEL)
    (command,) = [line for line in COMMANDS if "flash.py::flash" in line]
    done = call(tmp_path, *shlex.split(command)[1:])
    assert done.code == 0, done.err
    assert re.match(r"cuda:h100: .*flash takes \d+ registers a thread", done.out)
