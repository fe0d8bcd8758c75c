"""Native sparse attention in Triton, interpreted: groups of heads, odd lengths, both ways of a backward."""

import json
import os
import subprocess
import sys

import pytest

from tests.impls.interpreted import KERNELS, ROOT, assert_right, interpret

pytestmark = KERNELS
NARROW = {"dtype": "f32,bf16", "head_dim": "24", "window": "21", "selected": "3"}
PAIR = {"heads": "2", "kv_heads": "1"}
GROUPS = [("2", "2"), ("8", "2"), ("16", "1"), ("32", "1")]  # 1, 4, 16 and 32 query heads a key head


def judge(folder, name, seq, *words, cases=2, **axes):
    assert_right(interpret(folder, "attention", name, seq, *words, **{**NARROW, **axes}), cases)


@pytest.mark.full
def test_mslks_form(tmp_path):
    """A tile that is cut, blocks that no tile of keys divides, and a list that is no power of two."""
    judge(
        tmp_path,
        "triton_nsa",
        "72",
        "--mode",
        "fwd_bwd",
        tile="48",
        block="24",
        dtype="bf16",
        cases=1,
        **PAIR,
    )


@pytest.mark.long
def test_given_blocks(tmp_path):
    axes = {"block": "8", "stage": "given_blocks", "gated": "false", "dtype": "bf16"}
    judge(tmp_path, "triton_given_blocks", "29", "--mode", "fwd_bwd", cases=1, **axes, **PAIR)


@pytest.mark.long
def test_given_blocks_by_the_kernel_that_inductor_writes(tmp_path):
    """Three blocks of queries, the last one cut; grouped heads, whose blocks are their key head's."""
    axes = {"stage": "given_blocks", "gated": "false", "block": "16", "heads": "4", "kv_heads": "2"}
    judge(tmp_path, "triton_given_blocks_flex", "300", "--mode", "fwd", batch="2", **axes)


@pytest.mark.long
@pytest.mark.parametrize("name", ["triton_nsa_paper", "triton_nsa_fla"])
def test_a_selection_of_each_query(tmp_path, name):
    """Also of a length that holds no whole block of the compressed branch."""
    judge(tmp_path, name, "5,45", "--mode", "fwd_bwd", cases=4, block="8", **PAIR)


@pytest.mark.long
@pytest.mark.parametrize(("heads", "kv_heads"), GROUPS)
@pytest.mark.parametrize(("name", "seq"), [("triton_nsa", "144"), ("triton_nsa_paper", "61")])
def test_groups_of_heads(tmp_path, name, seq, heads, kv_heads):
    axes = {"heads": heads, "kv_heads": kv_heads, "tile": "48", "block": "16", "head_dim": "64"}
    judge(tmp_path, name, seq, "--mode", "fwd_bwd", **axes)


@pytest.mark.long
@pytest.mark.parametrize("name", ["triton_nsa", "triton_nsa_paper"])
@pytest.mark.parametrize("options", ["fused=false", "atomic=true"])
def test_branches_apart_and_sums_by_atomics(tmp_path, name, options):
    axes = {"batch": "2", "tile": "32", "block": "8", "gated": "false", "dtype": "f32"}
    judge(tmp_path, f"{name}[{options}]", "40", "--mode", "fwd_bwd", cases=1, **axes, **PAIR)


@pytest.mark.long
@pytest.mark.parametrize("name", ["triton_nsa", "triton_nsa_paper"])
def test_packed_sequences(tmp_path, name):
    axes = {"varlen": "true", "tile": "32", "block": "16", "dtype": "f32"}
    judge(tmp_path, name, "130", "--mode", "fwd_bwd", cases=1, **axes, **PAIR)


@pytest.mark.long
def test_the_published_configuration(tmp_path):
    """More picks than there are blocks at the shorter length; f16 beside the other two."""
    axes = {"dtype": "f32,bf16,f16", "head_dim": "64", "window": "512", "selected": "16", **PAIR}
    judge(tmp_path, "triton_nsa", "320,1344", cases=6, **axes)
    judge(tmp_path, "triton_nsa_paper", "333", cases=3, **axes)


@pytest.mark.long
def test_an_indexers_tokens(tmp_path):
    """Lists that are sorted more than once: more tokens than twice the picks."""
    axes = {"indexer_heads": "3", "indexer_dim": "20", "topk": "13", "gated": "false"}
    judge(tmp_path, "triton_dsa", "39", "--mode", "fwd_bwd", **axes, **PAIR)


@pytest.mark.long
def test_stages_alone(tmp_path):
    axes = {"block": "24", "tile": "48", "gated": "false", **PAIR}
    judge(tmp_path, "triton_select", "168", stage="select", **axes)
    judge(tmp_path, "triton_compress", "72", "--mode", "fwd_bwd", stage="compress", **axes)


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


@pytest.mark.long
def test_odd_tails_near_two_thousand_tokens(tmp_path):
    axes = {"dtype": "bf16", "head_dim": "64", "window": "128", "selected": "4"}
    for name, seq in (("triton_nsa", "1984"), ("triton_nsa_paper", "2045")):
        judge(tmp_path, name, seq, "--timeout", "500", cases=1, heads="1", kv_heads="1", **axes)


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
