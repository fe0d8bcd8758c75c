"""The mask in other forms: packed into words, and by blocks."""

import numpy as np
import pytest

from harness import Evidence
from impls.mask.bit_packed import bit_packed
from impls.mask.block_granular import block_granular
from impls.mask.family import FAMILY, MaskWorkload
from tests.impls.jax_case import call, jit

FORMS = [(bit_packed, {}), (bit_packed, {"unique": True}), (block_granular, {})]
IDS = ["bit_packed", "bit_packed-unique", "block_granular"]


def held(variant, w, inputs, result):
    meaning = FAMILY.semantics[variant.semantics]
    expected = meaning.reference(w, None)(inputs["topk_indices"])
    return meaning.contract.judge(Evidence(w, inputs, result, expected))


def columns(form, seq):
    """The open columns of every row, from either form."""
    if isinstance(form, dict):
        inside = form["inside"]
        assert np.array_equal(form["held"], inside.any(axis=-1))
        bits = inside.reshape(-1, inside.shape[-2] * inside.shape[-1])
    else:
        little = form.reshape(-1, form.shape[-1]).astype("<u4").view(np.uint8)
        bits = np.unpackbits(little, axis=-1, bitorder="little")
    assert not bits[:, seq:].any()
    return [np.flatnonzero(row).tolist() for row in bits]


@pytest.mark.jax
@pytest.mark.parametrize(("variant", "options"), FORMS, ids=IDS)
@pytest.mark.parametrize("shape", [(1, 3, 1024, 512), (2, 5, 257, 6), (1, 2, 33, 32), (1, 1, 32, 31)])
def test_form_meets_its_contract_and_is_the_mask(variant, options, shape):
    w = MaskWorkload(batch=shape[0], rows=shape[1], seq=shape[2], topk=shape[3])
    inputs = FAMILY.inputs(w, np.random.default_rng(7))
    result = call(variant, w, inputs, **options)
    judgement = held(variant, w, inputs, result)
    assert judgement.passed, judgement.reason
    dense = FAMILY.semantics["exact"].reference(w, None)(inputs["topk_indices"]).reshape(-1, w.seq)
    assert columns(result, w.seq) == [np.flatnonzero(row == 0).tolist() for row in dense]


@pytest.mark.parametrize("semantics", ["packed", "blocks"])
def test_reference_on_some_rows_is_part_of_the_whole(semantics):
    w = MaskWorkload(batch=2, rows=6, seq=300, topk=9)
    indices = FAMILY.inputs(w, np.random.default_rng(0))["topk_indices"]
    rows = np.array([0, 4, 5])
    whole = FAMILY.semantics[semantics].reference(w, None)(indices)
    part = FAMILY.semantics[semantics].reference(w, rows)(indices)
    pairs = [(part[n], whole[n]) for n in whole] if semantics == "blocks" else [(part, whole)]
    for got, want in pairs:
        assert np.array_equal(got, want[:, rows])
        assert want.shape[1] == FAMILY.rows(w)


@pytest.mark.jax
def test_words_known_by_heart():
    w = MaskWorkload(rows=1, seq=70, topk=4)
    indices = np.array([[[33, 0, 31, 69]]], np.int32)
    want = [[[0x8000_0001, 0x2, 0x20]]]
    assert FAMILY.semantics["packed"].reference(w, None)(indices).tolist() == want
    got = call(bit_packed, w, {"topk_indices": indices})
    assert got.dtype == np.uint32
    assert got.tolist() == want


@pytest.mark.jax
def test_blocks_known_by_heart():
    w = MaskWorkload(rows=1, seq=300, topk=3)
    result = call(block_granular, w, {"topk_indices": np.array([[[299, 127, 0]]], np.int32)})
    assert result["held"].tolist() == [[[True, False, True]]]
    assert result["inside"].shape == (1, 1, 3, 128)
    assert np.argwhere(result["inside"][0, 0]).tolist() == [[0, 0], [0, 127], [2, 43]]


@pytest.mark.jax
@pytest.mark.parametrize(("variant", "options"), FORMS, ids=IDS)
@pytest.mark.parametrize("index", [-1, -40, -41, 40, 41, 63, 127, 128, 999])
def test_an_index_outside_the_row_opens_nothing(variant, options, index):
    """Also none of the last word's or block's places past seq."""
    w = MaskWorkload(rows=3, seq=40, topk=2)
    indices = np.array([[[3, 4], [index, 5], [6, 39]]], np.int32)
    assert columns(call(variant, w, {"topk_indices": indices}, **options), w.seq) == [[3, 4], [5], [6, 39]]


@pytest.mark.jax
def test_a_bit_added_twice_carries_into_the_next_column():
    """What the sort of bit_packed is for, and why `unique` is a promise."""
    w = MaskWorkload(rows=1, seq=64, topk=4)
    inputs = {"topk_indices": np.array([[[5, 31, 5, 31]]], np.int32)}
    assert columns(call(bit_packed, w, inputs), w.seq) == [[5, 31]]
    broken = call(bit_packed, w, inputs, unique=True)
    assert columns(broken, w.seq) == [[6]]  # 31's carry is lost with the word
    assert not held(bit_packed, w, inputs, broken).passed


@pytest.mark.jax
@pytest.mark.parametrize("variant", [bit_packed, block_granular], ids=["bit_packed", "block_granular"])
def test_duplicates_open_once(variant):
    w = MaskWorkload(batch=2, rows=8, seq=200, topk=64)
    inputs = {"topk_indices": np.random.default_rng(0).integers(0, 200, (2, 8, 64)).astype(np.int32)}
    judgement = held(variant, w, inputs, call(variant, w, inputs))
    assert judgement.passed, judgement.reason


@pytest.mark.jax
def test_a_packed_mask_is_a_thirty_second_of_the_dense_one():
    import jax

    w = MaskWorkload(rows=1024, seq=131072)
    indices = jax.ShapeDtypeStruct((1, 1024, 2048), "int32")
    memory = jit(bit_packed(w)).lower(topk_indices=indices).compile().memory_analysis()
    assert memory.output_size_in_bytes == 1024 * 131072 * 4 // 32
    assert memory.temp_size_in_bytes <= 2**27
