"""Stages measured alone: every way to do them against the reference, known answers, names held together."""

import dataclasses

import numpy as np
import pytest

from impls.attention.family import AttentionWorkload
from tests.impls import jax_case
from tests.impls.attention_by_hand import drawn, verdict
from tests.impls.torch_case import run, tensors
from tests.impls.variants import ATTENTION as V

pytestmark = [pytest.mark.torch, pytest.mark.jax]

SMALL = AttentionWorkload(seq=1024, heads=4, kv_heads=2, head_dim=16, selected=3)


def products(function, inputs):
    """Multiplications of matrix products that a call dispatches."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter, torch.no_grad():
        function(**tensors(inputs))
    return counter.get_total_flops()


def test_the_q_mean_identity_saves_a_factor_of_the_tile():
    """mean(Q·K) = mean(Q)·K: the same picks by 256 times fewer products (MSLK #296)."""
    w = dataclasses.replace(SMALL, stage="select", seq=4096, tile=256)
    inputs = drawn(w)
    few, all_of_them = V.select_mean_query(w), V.select_every_query(w)
    np.testing.assert_array_equal(run(few, inputs), run(all_of_them, inputs))
    assert products(all_of_them, inputs) == 256 * products(few, inputs)


def test_known_picks():
    """A tile of two queries, blocks of one: the mean query decides, and only blocks before the tile's end."""
    w = AttentionWorkload(
        stage="select", seq=4, heads=1, kv_heads=1, head_dim=1, block=1, tile=2, selected=2, dtype="f64"
    )
    inputs = {"q": np.array([1.0, 3, -1, -1]), "means": np.array([5.0, 2, 9, -7])}
    inputs = {name: values.reshape(1, 4, 1, 1) for name, values in inputs.items()}
    for variant in (V.select_mean_query, V.select_every_query, V.select_jax):
        assert jax_case.call(variant, w, inputs).tolist() == [[[[0, 1], [1, 3]]]]
    assert "elements differ" in verdict(w.stage, w, inputs, np.array([[[[0, 1], [2, 3]]]])).reason


@pytest.mark.parametrize("variant", [V.lists_transposed_dense, V.lists_transposed_compact])
def test_known_lists_turned_round(variant):
    w = AttentionWorkload(
        stage="transposed_lists", seq=512, heads=1, kv_heads=1, block=128, tile=128, selected=3
    )
    blocks = np.array([[0, 9, 9], [0, 1, 9], [2, 9, 9], [0, 2, 3]], np.int32)[None, None]
    inputs = {"blocks": blocks, "counts": np.array([1, 2, 1, 3], np.int32)[None, None]}
    made = jax_case.call(variant, w, inputs)
    assert made["counts"].tolist() == [[[3, 1, 2, 1]]]
    readers = [made["tiles"][0, 0, i, :n].tolist() for i, n in enumerate([3, 1, 2, 1])]
    assert readers == [[0, 1, 3], [1], [2, 3], [3]]
    assert verdict(w.stage, w, inputs, made).passed
    made["tiles"][0, 0, 0, :2] = 1, 0
    assert not verdict(w.stage, w, inputs, made).passed


def test_a_stage_takes_the_lists_of_the_stage_before():
    lists = dataclasses.replace(SMALL, stage="block_lists")
    turned = dataclasses.replace(SMALL, stage="transposed_lists")
    made = jax_case.call(V.lists_dedup, lists, drawn(lists))
    given = drawn(turned)
    assert np.array_equal(made["counts"], given["counts"])
    read = np.arange(made["blocks"].shape[-1]) < made["counts"][..., None]
    assert np.array_equal(np.where(read, made["blocks"], -1), given["blocks"])
