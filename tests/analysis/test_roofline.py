"""Ceilings of a machine whose every reading is known."""

import pytest

from harness.analysis.roofline import roofline_of
from tests.rooflines import CACHES, KI, MI, machine


def test_a_ceiling_is_the_fastest_kernels_fastest_round_beside_its_median_with_an_interval():
    ceiling = machine().levels["L2"]
    assert (ceiling.kernel, ceiling.size) == ("sum", 512 * KI)
    assert ceiling.rate == 8e10
    assert tuple(ceiling.median)[:4] == (7.2e10, 6.4e10, 8e10, 6)


def test_a_smaller_working_set_has_what_a_larger_one_has():
    assert {name: ceiling.rate for name, ceiling in machine().levels.items()} == {
        "L1": 8e10, "L2": 8e10, "DRAM": 1e10,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("size", "name", "rate"),
    [(KI, "L1", 8e10), (MI, "L2", 8e10), (3 * MI, "DRAM", 3e10), (1 << 40, "DRAM", 1e10)],
)
def test_between_two_sizes_the_smaller_ones_figure_is_the_ceiling(size, name, rate):
    roof = machine().memory_roof(size)
    assert (roof.name, roof.rate) == (name, rate)


@pytest.mark.parametrize(("dtype", "name"), [("f64", "f64"), ("f32", "f32"), ("bf16", "f32"), ("i8", "f32")])
def test_operands_may_be_computed_in_a_wider_dtype(dtype, name):
    assert machine(f64=5e10, f32=1e11, bf16=1e9).compute_roof(dtype).name == name


@pytest.mark.parametrize("damage", [{"readings": []}, {"caches": {"L1": "much"}}])
def test_what_is_no_roofline_is_refused(damage):
    plain = {"caches": CACHES, "readings": [vars(r) for r in machine().readings]}
    assert roofline_of({**plain, "load": 0.5}).levels == machine().levels
    with pytest.raises(ValueError):
        roofline_of({**plain, **damage})
