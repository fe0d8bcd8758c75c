"""A gate over what kernels take of a multiprocessor or a TPU's core: exact, with the line that spills."""

from dataclasses import replace

import pytest

from harness.gate.static.compile_sides import missing_compilers
from harness.gate.static.diff import StaticFigures, compare
from harness.gate.static.exact_kernel import ExactKernel
from tests.records import kernel_of, tpu_kernel_of

KERNEL = kernel_of()
PALLAS = tpu_kernel_of()
BASE = StaticFigures(
    {}, framework="triton", program="sha256:1", passed=True, kernels={"cuda:h100": (ExactKernel.of(KERNEL),)}
)


def side(*kernels):
    return replace(BASE, program="sha256:2", kernels={"cuda:h100": tuple(map(ExactKernel.of, kernels))})


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


def test_configurations_are_compared_each_with_its_own():
    small, large = (replace(KERNEL, configuration=f"BM={bm}", registers=bm) for bm in (64, 128))
    assert verdict(side(large, small), base=side(small, large)).verdict == "unchanged"


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
    return replace(
        BASE, program="sha256:2", kernels={"tpu:v5p": (ExactKernel.of(replace(PALLAS, **change)),)}
    )


def test_vmem_is_held_as_registers_are():
    found = verdict(of_tpu(vmem_bytes=5 << 20), base=of_tpu())
    assert (found.verdict, found.reason) == ("regressed", "tpu:v5p: scan: bytes of VMEM 4194304 -> 5242880")
    assert verdict(of_tpu(), base=of_tpu(vmem_bytes=5 << 20)).verdict == "improved"
    assert verdict(of_tpu(vmem_bytes=None), base=of_tpu()).verdict == "unchanged"


@pytest.mark.parametrize("kernel", [KERNEL, PALLAS])
def test_what_fits_no_more_is_a_regression_of_its_own(kernel):
    base, candidate = (
        replace(BASE, kernels={"target": (ExactKernel.of(each),)})
        for each in (kernel, replace(kernel, refused="too large"))
    )
    found = verdict(candidate, base=base)
    assert found.verdict == "regressed"
    assert found.reason == f"target: {kernel.kernel} cannot be launched any more: too large"
    assert verdict(candidate, base=candidate).verdict == "unchanged"


def test_the_same_kernels_are_the_reason():
    pair = (replace(of_tpu(), program=None), replace(of_tpu(), program=None))
    assert verdict(pair[1], base=pair[0]).reason == "the same kernels"
    other = replace(of_tpu(program="sha256:9"), program=None)
    assert verdict(other, base=pair[0]).reason == "same figures"


def test_a_missing_compiler_is_a_note(monkeypatch):
    monkeypatch.setattr(
        "harness.gate.static.compile_sides.missing_compiler", lambda kind: f"no compiler for {kind}"
    )
    assert missing_compilers(["pallas", "numpy", "triton", "pallas", "jax"]) == [
        "kernels of pallas are not compared on cuda: no compiler for cuda",
        "kernels of pallas are not compared on tpu: no compiler for tpu",
    ]
