"""Gradients of sparse attention in Triton, interpreted: against differences, in any order of programs."""

import json
import os
import subprocess
import sys

import pytest

from tests.impls.interpreted import KERNELS, ROOT

pytestmark = KERNELS


def count_answers(form, *, atomic, orders):
    """How many different outputs and gradients a form has, by bits, over so many orders of its programs."""
    words = (form, json.dumps({"atomic": atomic}), str(orders))
    return json.loads(interpreted_module("shuffled_programs", *words))


def interpreted_module(name, *words):
    """What a module beside this one prints in a process of its own, in which Triton interprets."""
    done = subprocess.run(
        [sys.executable, "-m", f"tests.impls.{name}", *words],
        cwd=ROOT,
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("form", "orders"),
    [
        pytest.param("triton_nsa", 20, marks=pytest.mark.long),
        pytest.param("triton_nsa_paper", 20, marks=pytest.mark.long),
    ],
)
def test_a_backward_by_lists_is_the_same_to_the_bit_in_every_order_of_programs(form, orders):
    assert count_answers(form, atomic=False, orders=orders) == dict.fromkeys(
        ("output", "q", "k", "v", "gates"), 1
    )


@pytest.mark.long
def test_sums_by_atomics_depend_on_the_order():
    """What the test above would see: keys' gradients alone, which several programs add to."""
    counts = count_answers("triton_nsa", atomic=True, orders=3)
    assert counts == {"output": 1, "q": 1, "k": 3, "v": 3, "gates": 1}


BRANCHES = ["compressed", "selected", "window"]
SMALL = {"heads": 2, "kv_heads": 1, "head_dim": 8, "block": 8, "window": 5, "selected": 2}
FORMS = {  # lengths with a tile, and a block where there may be one, that is cut
    "triton_nsa": {"seq": 24, "tile": 16},
    "triton_nsa_paper": {"seq": 21, "selected": 3},
    "triton_nsa_fla": {"seq": 21, "selected": 3},
    "triton_given_blocks": {"seq": 21, "stage": "given_blocks", "gated": False},
}


def assert_differences(form, branches=BRANCHES, options=None, **fields):
    """No gradient is farther from a central difference than f32 allows; the largest is so by three times."""
    workload = {**SMALL, **FORMS[form], **fields}
    words = (form, json.dumps(options or {}), json.dumps(workload), json.dumps(branches))
    found = json.loads(interpreted_module("finite_differences", *words))
    assert set(found) == set(branches)
    for branch, inputs in found.items():
        for name, (distance, size) in inputs.items():
            assert distance <= 1, (branch, name, distance)
            assert size >= 3, (branch, name, size)


@pytest.mark.parametrize(
    ("form", "branches", "options"),
    [
        ("triton_nsa", BRANCHES, {"fused": True}),
        ("triton_nsa", ["window"], {"fused": False}),
        ("triton_nsa_paper", ["compressed"], {"fused": False}),
        ("triton_given_blocks", ["selected"], {}),
    ],
)
def test_gradients_are_differences(form, branches, options):
    assert_differences(form, branches, options)


@pytest.mark.long
@pytest.mark.parametrize(("heads", "kv_heads"), [(1, 1), (3, 1), (8, 2), (16, 1)])
@pytest.mark.parametrize("form", FORMS)
def test_gradients_are_differences_for_every_group_of_heads(form, heads, kv_heads):
    """1 to 16 query heads a key head, 3 of them in a tile that has room for 4."""
    branches = ["selected"] if form == "triton_given_blocks" else BRANCHES
    assert_differences(form, branches, heads=heads, kv_heads=kv_heads)


@pytest.mark.long
@pytest.mark.parametrize("options", [{"fused": False}, {"atomic": True}, {"fused": False, "atomic": True}])
@pytest.mark.parametrize("form", ["triton_nsa", "triton_nsa_paper", "triton_nsa_fla"])
def test_gradients_are_differences_branch_by_branch_and_by_atomics(form, options):
    assert_differences(form, BRANCHES, options, batch=2, kv_heads=2)


@pytest.mark.long
@pytest.mark.parametrize(
    ("form", "seq"), [("triton_nsa", 136), ("triton_nsa_paper", 131), ("triton_given_blocks", 67)]
)
def test_gradients_are_differences_over_several_tiles_with_an_odd_tail(form, seq):
    """More tokens than any kernel's tile has rows, and a head's width that is no power of two."""
    branches = ["selected"] if form == "triton_given_blocks" else BRANCHES
    assert_differences(form, branches, seq=seq, head_dim=12, window=37, selected=4)
