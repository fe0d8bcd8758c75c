"""Planning under torch's CUDA build, which is what users install, without its GPU."""

import re
import shlex

import pytest

from tests.cli.conftest import call, records
from tests.test_kernels_page import COMMANDS, KERNEL

pytestmark = [pytest.mark.torch, pytest.mark.full, pytest.mark.usefixtures("cuda_build")]
BACKWARD = {  # the others are compiled by tests.triton_matrix
    "triton_flash": "dtype=bf16",
    "triton_nsa": "dtype=bf16",
    "triton_given_blocks": "dtype=bf16,gated=false,stage=given_blocks",
    "triton_compress": "dtype=bf16,stage=compress",
}


def fields(text):
    return [word for field in text.split(",") for word in ("--set", field)]


def static(folder, *words):
    return records(folder, "static", *words, "--target", "cuda:h100", "--seq", "1Ki")


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


def test_a_template_is_planned(tmp_path):
    assert call(tmp_path, "new", "attention", "mine", "--framework", "triton").code == 0
    (record,) = static(tmp_path, "attention/mine", "--plugin", "mine.py", "--mode", "fwd")
    assert record["static"]["cuda:h100"]["kernels"]
    assert record["static"]["cuda:h100"]["argument_bytes"]


def test_a_kernel_of_a_file_is_planned(tmp_path):
    (tmp_path / "flash.py").write_text(KERNEL)
    (command,) = [line for line in COMMANDS if "flash.py::flash" in line]
    done = call(tmp_path, *shlex.split(command)[1:])
    assert done.code == 0, done.err
    assert re.match(r"cuda:h100: .*flash uses \d+ registers", done.out)
