"""#684's printed lines: right in f32 alone, and there the program of the lines that they replace."""

from dataclasses import replace
from functools import partial

import pytest

from impls.mla.as_printed import as_printed
from impls.mla.family import FAMILY, MlaWorkload
from tests.impls.mla_trial import CHECKS, drawn, trial
from tests.impls.torch_case import operators, run

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("narrow")]

LINES = ("before", "after")
DEVICE = "prim.device.default"  # a question of the tracer, no operator
DTYPES = ("f64", "f32", "bf16", "f16")


def under(lines):
    return replace(as_printed, builder=partial(as_printed.builder, lines=lines))


@pytest.mark.parametrize("seq", [1, 64, 256])
def test_in_f32_both_are_one_program(seq):
    w = MlaWorkload(seq=seq, causal=False)
    before, after = (operators(under(lines), FAMILY, w)[1] for lines in LINES)
    assert [one for one in before if one[0] != DEVICE] == [one for one in after if one[0] != DEVICE]
    assert any(name.startswith("aten._softmax") for name, _ in after)


def test_an_error_of_another_kind_is_not_taken_for_it():
    w = MlaWorkload(seq=9, causal=False)
    inputs = drawn(w)
    inputs["weights"]["wkv_a"] = inputs["weights"]["wkv_a"][:, 1:]
    with pytest.raises(RuntimeError, match="shape"):
        run(as_printed(w), inputs)


@pytest.mark.parametrize(
    ("lines", "dtype"), [("after", "f32"), *(("before", dtype) for dtype in DTYPES)], ids=lambda given: given
)
def test_the_check_tries_all_dtypes_whatever_its_own(lines, dtype):
    w = MlaWorkload(seq=40, causal=False, dtype=dtype)
    verdict = CHECKS["dtypes"].judge(trial(w, under(lines)))
    assert verdict.passed == (lines == "before")
    assert bool(as_printed.fails(w, {"lines": lines})) == (lines == "after")
    failed = {name for name in DTYPES if f"{name}: as printed" in verdict.reason}
    assert failed == ({"f64", "bf16", "f16"} if lines == "after" else set())


def test_it_concerns_those_named_alone():
    assert not CHECKS["dtypes"].concerns("dense", "fwd", (), MlaWorkload(seq=40), name="naive")
    for other in (MlaWorkload(seq=40, phase="decode"), MlaWorkload(seq=40, weights="fp8_block")):
        assert not CHECKS["dtypes"].concerns("dense", "fwd", (), other, name="fast_path")
