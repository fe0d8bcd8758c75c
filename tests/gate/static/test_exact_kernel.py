"""A gate over what kernels take of a multiprocessor or a TPU's core: exact, with the line that spills."""

from dataclasses import replace

import pytest

from harness.gate.static.diff import StaticFigures, compare
from harness.gate.static.exact_kernel import ExactKernel
from harness.gate.static.run import missing_compilers
from tests.records import kernel_of, tpu_kernel_of

KERNEL = kernel_of()
PALLAS = tpu_kernel_of()
BASE = StaticFigures(
    {},
    framework="triton",
    program="sha256:1",
    passed=True,
    kernels={"cuda:h100": (ExactKernel.of(KERNEL, "cuda:h100"),)},
)


def side(*kernels, target="cuda:h100"):
    exact = tuple(ExactKernel.of(kernel, target) for kernel in kernels)
    return replace(BASE, program="sha256:2", kernels={target: exact})


def verdict(candidate, base=BASE, accept=lambda _: None):
    return compare(base, candidate, accept)


def test_spills_are_a_regression_at_their_line():
    spilling = replace(KERNEL, spilled_bytes=1080, spilled_at={"flash.py:19": 40, "flash.py:12": 3})
    found = verdict(side(spilling))
    assert found.verdict == "regressed"
    assert found.reason == "cuda:h100: attn: bytes spilled a thread 0 -> 1080, most at flash.py:19"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"registers": 169}, "cuda:h100: attn: registers a thread 168 -> 169"),
        ({"shared_bytes": 65537}, "cuda:h100: attn: bytes of shared memory a block 65536 -> 65537"),
    ],
)
def test_one_more_is_a_regression_and_one_less_an_improvement(change, sentence):
    changed = side(replace(KERNEL, **change))
    assert (verdict(changed).verdict, verdict(changed).reason) == ("regressed", sentence)
    assert verdict(BASE, base=changed).verdict == "improved"


def test_what_is_meant_is_accepted_by_the_word_kernels():
    found = verdict(
        side(replace(KERNEL, registers=200)), accept=lambda key: "faster" if key == "kernels" else None
    )
    assert found.verdict == "unchanged"
    assert found.notes == ("accepted: cuda:h100: attn: registers a thread 168 -> 200: faster",)


def test_launches_of_one_kernel_are_compared_in_order():
    first, second = KERNEL, replace(KERNEL, grid=(8,), registers=40)
    found = verdict(side(first, replace(second, registers=41)), base=side(first, second))
    assert found.reason == "cuda:h100: attn: registers a thread 40 -> 41"


def test_a_kernel_of_one_side_alone_is_no_change_of_figures():
    assert verdict(side(KERNEL, replace(KERNEL, kernel="combine"))).verdict == "unchanged"


def test_kernels_that_compile_no_more_are_told():
    (note,) = verdict(replace(BASE, kernels={})).notes
    assert note.startswith("kernels on cuda:h100 cannot be compared any more")
    assert "seqsweep static --target cuda:h100" in note


def of_tpu(**change):
    return side(replace(PALLAS, **change), target="tpu:v5p")


def test_vmem_is_held_as_registers_are():
    found = verdict(of_tpu(vmem_bytes=5 << 20), base=of_tpu())
    assert (found.verdict, found.reason) == ("regressed", "tpu:v5p: scan: bytes of VMEM 4194304 -> 5242880")
    assert verdict(of_tpu(), base=of_tpu(vmem_bytes=5 << 20)).verdict == "improved"
    assert verdict(of_tpu(vmem_bytes=None), base=of_tpu()).verdict == "unchanged"


@pytest.mark.parametrize("kernel", [KERNEL, PALLAS])
def test_what_fits_no_more_is_a_regression_of_its_own(kernel):
    base, candidate = (
        replace(BASE, kernels={"cuda:h100": (ExactKernel.of(each, "cuda:h100"),)})
        for each in (kernel, replace(kernel, refused="too large"))
    )
    found = verdict(candidate, base=base)
    assert found.verdict == "regressed"
    assert found.reason == f"cuda:h100: {kernel.kernel} cannot be launched any more: too large"
    assert verdict(candidate, base=candidate).verdict == "unchanged"


def test_the_same_kernels_are_the_reason():
    pair = (replace(of_tpu(), program=None), replace(of_tpu(), program=None))
    assert verdict(pair[1], base=pair[0]).reason == "the same kernels"
    other = replace(of_tpu(program="sha256:9"), program=None)
    assert verdict(other, base=pair[0]).reason == "same figures"


def by_path(**paths):
    return replace(KERNEL, instructions={**paths, "global": 8})


HGMMA_LOST = "uses no warp-group matrix instructions (HGMMA): at most about two thirds of the GPU's peak"

GENERAL = "computes matrix products on general units, without matrix instructions"


@pytest.mark.parametrize(
    ("then", "now", "sentence"),
    [
        ({"wgmma": 24}, {"mma": 96}, f"{HGMMA_LOST}: matrix instructions wgmma 24 -> 0, mma 0 -> 96"),
        (
            {"wgmma": 24},
            {"wgmma": 8, "mma": 64},
            "moves products to a slower path: matrix instructions wgmma 24 -> 8, mma 0 -> 64",
        ),
        (
            {"mma": 96},
            {},
            f"{GENERAL}: matrix instructions mma 96 -> 0",
        ),
    ],
)
def test_a_faster_path_of_products_that_is_lost_is_a_regression(then, now, sentence):
    found = verdict(side(by_path(**now)), base=side(by_path(**then)))
    assert (found.verdict, found.reason) == ("regressed", f"cuda:h100: attn {sentence}")
    assert verdict(side(by_path(**then)), base=side(by_path(**now))).verdict == "unchanged"
    assert verdict(side(by_path(**now)), base=side(by_path(**now))).verdict == "unchanged"
    old = replace(KERNEL, instructions={"matrix": 24})  # of an earlier version, which knew no paths
    assert verdict(side(by_path(**now)), base=side(old)).verdict == "unchanged"


def test_fewer_and_larger_instructions_of_one_path_are_no_loss():
    assert verdict(side(by_path(wgmma=12)), base=side(by_path(wgmma=24))).verdict == "unchanged"
    added = replace(by_path(mma=4), products=1)
    assert verdict(side(added), base=side(replace(by_path(), products=0))).verdict == "unchanged"


def test_a_grid_that_leaves_multiprocessors_idle_is_a_note():
    small = replace(KERNEL, grid=(64,), waves=0.16)
    (note,) = verdict(side(small)).notes
    assert note.startswith("cuda:h100: attn gives a block to 64 of 132 multiprocessors (48 %, 0.16 waves)")
    assert verdict(side(small), base=side(small)).notes == ()
    of_file = replace(
        BASE, kernels={"cuda:h100": (ExactKernel("attn", side(KERNEL).kernels["cuda:h100"][0].figures),)}
    )
    assert verdict(side(small), base=of_file).notes == ()


def test_a_missing_compiler_is_a_note(monkeypatch):
    monkeypatch.setattr("harness.gate.static.run.missing_compiler", lambda kind: f"no compiler for {kind}")
    assert missing_compilers(["pallas", "numpy", "triton", "pallas", "jax"]) == [
        "kernels of pallas are not compared on cuda: no compiler for cuda",
        "kernels of pallas are not compared on tpu: no compiler for tpu",
    ]
