"""Stages: a family and its code use the same names, and every implementation has more than one."""

import ast
from pathlib import Path

import numpy as np
import pytest

from harness import Unsupported
from harness.catalog import loading
from impls.attention.family import FAMILY as ATTENTION
from impls.attention.family import AttentionWorkload
from impls.attention.workload import STAGES
from impls.mla.family import FAMILY as MLA
from impls.mla.family import MlaWorkload
from tests.impls import variants
from tests.impls.torch_case import named, tensors

IMPLS = Path(__file__).resolve().parents[2] / "impls"
FAMILIES = ("attention", "mask", "mla", "offsets", "topk")


def names_marked(folder):
    return {
        node.args[0].value
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "stage"
        and isinstance(node.args[0], ast.Constant)  # elsewhere it is one of several marked names
    }


NATIVE = {"seq": 512, "head_dim": 32, "heads": 16, "kv_heads": 1, "gated": False}
POINTS = {  # of the whole call: an implementation is profiled at the first point that it supports
    "attention": [
        AttentionWorkload(seq=512, head_dim=32, kv_heads=1),
        AttentionWorkload(seq=512, head_dim=32, kv_heads=1, varlen=True),
        AttentionWorkload(seq=512, head_dim=32, kv_heads=1, compressed_block=16, compressed_selected=4),
        AttentionWorkload(**NATIVE),
        AttentionWorkload(**NATIVE, indexer_heads=2),
        AttentionWorkload(**NATIVE, stage="decode"),
    ],
    "mla": [
        MlaWorkload(seq=8),
        MlaWorkload(seq=8, causal=False),
        MlaWorkload(seq=8, phase="decode", steps=2),
    ],
}
EAGER = [
    (family, variant)
    for family, of in ((ATTENTION, variants.ATTENTION), (MLA, variants.MLA))
    for variant in vars(of).values()
    if variant.framework == "torch"
    and variant.name not in {"flex", "dense_flex", "given_blocks_flex", "nsa_fla"}  # are compiled
    if variant.semantics.removeprefix("nsa_paper_") not in set(STAGES) - {"attention", "decode"}
]


@pytest.mark.torch
@pytest.mark.parametrize(("family", "variant"), EAGER, ids=lambda of: of.name)
def test_all_arithmetic_of_a_call_is_in_a_stage_and_nearly_all_of_its_bytes(family, variant):
    import torch

    from harness.worker.frameworks.torch.operators import count_stages

    for w in POINTS[family.name]:
        try:
            family.shapes_of(variant.semantics, w)
            function = variant(w)
            inputs = tensors(named(function, family.inputs(w, np.random.default_rng(0))))
        except Unsupported:
            continue
        with torch.no_grad():
            counts = count_stages(lambda call=function, of=inputs: call(**of))
        _, flops, moved = counts.pop("", (0, 0, 0))
        assert flops == 0
        assert moved < 0.05 * sum(bytes_ for _, _, bytes_ in counts.values())
        return
    pytest.fail("no point is one that it takes")


@pytest.mark.parametrize("name", FAMILIES)
def test_every_stage_is_listed_and_marked(name):
    (family,) = loading.families_in(loading.load(f"impls.{name}.family"))
    assert set(family.stages) == names_marked(IMPLS / name)


def test_attentions_stages_have_the_same_names_in_workloads_and_profiles():
    """A separately measured stage has the same name as in a profile of the call; lists belong to a kernel."""
    others = {"attention", "block_lists", "transposed_lists", "given_blocks", "decode", "chunk"}
    assert set(STAGES) - others == {"compress", "select", "gate"} <= set(ATTENTION.stages)
    assert set(STAGES) - {"attention", "decode"} <= set(ATTENTION.semantics)
