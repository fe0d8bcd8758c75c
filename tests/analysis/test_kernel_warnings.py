"""Warnings about kernels, by GPU, and kernels without a warning."""

import pytest

from harness.analysis.kernel_warnings import idle, overflow, slow_path, warning_sentences
from harness.catalog.accelerators import target
from tests.records import kernel_of

HOPPER = "use{s} no warp-group matrix instructions (HGMMA): at most about two thirds of the GPU's peak"
BLACKWELL = "use{s} no tcgen05 matrix instructions, only warp-level ones (HMMA)"
GENERAL = "compute{s} matrix products without matrix instructions"


@pytest.mark.parametrize(
    ("gpu", "instructions", "products", "said"),
    [
        ("cuda:h100", {"mma": 96}, 2, HOPPER),
        ("cuda:sm_90", {"mma": 96}, None, HOPPER),
        ("cuda:h100", {"mma": 8, "wgmma": 24}, 2, ""),
        ("cuda:h100", {"dmma": 96}, 2, ""),  # of f64, for which there is nothing else
        ("cuda:b200", {"mma": 96}, 2, BLACKWELL),
        ("cuda:b200", {"tcgen05": 8}, 2, ""),
        ("cuda:a100", {"mma": 96}, 2, ""),
        ("cuda:sm_120", {"mma": 96}, 2, ""),
        ("cuda:a100", {"float": 9}, 1, GENERAL),
        ("cuda:h100", {"float": 9}, 0, ""),  # a softmax, a top-k
        ("cuda:h100", {"float": 9}, None, ""),
        ("cuda:h100", {"matrix": 96}, 2, ""),  # an earlier version's record: by which path is not known
    ],
)
def test_the_path_of_matrix_products(gpu, instructions, products, said):
    assert slow_path(kernel_of(instructions=instructions, products=products), target(gpu)) == said


def test_multiprocessors_without_a_block():
    said = idle(kernel_of(grid=(64, 1), waves=0.0693), target("cuda:h100"))
    assert said.format(s="s") == (
        "uses only 64 of 132 multiprocessors (48 %, 0.0693 waves), so the latency of one block limits it"
    )


@pytest.mark.parametrize(
    ("gpu", "blocks", "waves"),
    [
        ("cuda:h100", 132, 0.5),  # a persistent kernel
        ("cuda:sm_90", 64, None),  # how many multiprocessors there are is not known
        ("cuda:a100", 64, None),  # a block does not fit
    ],
)
def test_grids_without_a_warning(gpu, blocks, waves):
    assert idle(kernel_of(grid=(blocks,), waves=waves, tail=waves), target(gpu)) == ""


def test_kernels_with_the_same_warning_share_a_sentence():
    slow = {"instructions": {"mma": 96}}
    kernels = [kernel_of(kernel="a", **slow), kernel_of(kernel="b", **slow), kernel_of(kernel="a", **slow)]
    (said,) = warning_sentences([*kernels, kernel_of(kernel="c")], "cuda:h100", " of flash at 4Ki")
    assert said.startswith("a and b of flash at 4Ki use no warp-group matrix instructions")
    assert warning_sentences([kernel_of()], "cuda:h100") == []


def test_an_address_that_overflows():
    kernel, gpu = kernel_of(overflows=("q", "out")), target("cuda:sm_90")
    said = "computes addresses of q and out in 32 bits, which overflow; use .to(tl.int64)"
    assert overflow(kernel, gpu).format(s="s") == said
    assert overflow(kernel_of(), gpu) == ""
    assert warning_sentences([kernel], "cuda:sm_90", " of flash at 1Mi") == [f"attn of flash at 1Mi {said}"]
