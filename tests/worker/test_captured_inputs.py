"""Inputs from files, valid and invalid."""

import json
import pickle
import struct
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest

from harness import Array, Family, Semantics, axis, exact
from harness.core.errors import Unsupported
from harness.core.workload_files import identify_captured
from harness.worker.captured_inputs import draw_inputs, read_captured
from impls.attention.family import FAMILY as ATTENTION
from impls.attention.family import AttentionWorkload
from impls.mask.family import FAMILY as MASK
from impls.mask.family import MaskWorkload
from impls.mla.family import FAMILY as MLA
from impls.mla.family import MlaWorkload
from impls.offsets.family import FAMILY as OFFSETS
from impls.offsets.family import OffsetsWorkload

WANTED = {"x": Array((2, 3, 4), "f32"), "weights": {"w": Array((5,), "i32")}}
X = np.arange(2 * 4 * 6, dtype=np.float32).reshape(2, 4, 6)
NAMES = {"float32": "F32", "int32": "I32", "bfloat16": "BF16", "float64": "F64"}


def safetensors(path, header=None, data=b"", **arrays):
    """Write a file of these arrays, or of any header and data."""
    if header is None:
        header, data = {"__metadata__": {"of": "a model"}}, b""
        for name, array in arrays.items():
            ends = [len(data), len(data) + array.nbytes]
            header[name] = {"dtype": NAMES[array.dtype.name], "shape": array.shape, "data_offsets": ends}
            data += array.tobytes()
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def entry(**changed):
    return {"x": {"dtype": "F32", "shape": [2, 3, 4], "data_offsets": [0, 96], **changed}}


def save(folder, form, **arrays):
    path = folder / f"caught{form}"
    if form == ".safetensors":
        return safetensors(path, **arrays)
    (np.savez_compressed if form == ".compressed.npz" else np.savez)(path, **arrays)
    return path


def read(path, wanted=WANTED):
    return read_captured(identify_captured(str(path)), wanted)


@pytest.mark.parametrize("form", [".npz", ".compressed.npz", ".safetensors"])
def test_the_leading_part_along_each_axis_is_read(tmp_path, form):
    path = save(tmp_path, form, **{"x": X, "weights.w": np.arange(5, dtype=np.int32)})
    given = read(path)
    assert np.array_equal(given["x"], X[:, :3, :4])
    assert given["x"].dtype == np.float32
    assert given["weights.w"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("form", [".npz", ".safetensors"])
def test_f16_and_bf16_are_read(tmp_path, form):
    values = np.arange(8).astype(ml_dtypes.bfloat16)
    (x,) = read(save(tmp_path, form, x=values), {"x": Array((8,), "bf16")}).values()
    assert np.array_equal(x, values)


@pytest.mark.parametrize("form", [".npz", ".safetensors"])
@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"x": np.where(X == 3, np.float32("nan"), X)}, 'tensor "x" contains NaN, which cannot be compared'),
        ({"x": X[:, :2]}, r'tensor "x" has shape \[2, 2, 6\], expected at least \[2, 3, 4\]'),
        ({"x": X[0]}, r'tensor "x" has shape \[4, 6\], expected at least \[2, 3, 4\]'),
        ({"x": X.astype(np.float64)}, 'tensor "x" is float64, expected float32; convert it'),
        ({"y": X}, 'tensor "y" is not an input of this family'),
        ({"weight.w": X}, 'tensor "weight.w" is not an input of this family; nearest: "weights.w"'),
        ({}, "it contains no tensor; store at least one of weights.w, x"),
    ],
    ids=["nan", "short", "flat", "dtype", "stranger", "misspelt", "empty"],
)
def test_errors_name_file_tensor_and_remedy(tmp_path, form, arrays, said):
    path = save(tmp_path, form, **arrays)
    with pytest.raises(Unsupported, match=f"{path}: {said}"):
        read(path)


TERA = 10**12


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (entry(shape=[TERA], data_offsets=[0, 4 * TERA]), "has wrong offsets or a wrong size"),
        (entry(data_offsets=[0.0, 96.0]), "TypeError"),
        (entry(dtype="F8_E4M3"), "is F8_E4M3; use one of F64, F32"),
        (b"{", "length is 1 bytes, but the file has 105"),
        (b"[" * 9000, "RecursionError"),
    ],
    ids=str,
)
def test_every_field_of_a_header_is_validated(tmp_path, header, said):
    path = safetensors(tmp_path / "caught.safetensors", header, bytes(96))
    with pytest.raises(Unsupported, match=f"{path}.*{said}"):
        read(path)


def test_nothing_is_unpickled(tmp_path):
    path = tmp_path / "caught.npz"
    np.savez(path, x=np.array([Bomb()], dtype=object))
    with pytest.raises(Unsupported, match="Object arrays cannot be loaded"):
        read(path)
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(Unsupported, match=r"File is not a zip file.*; write it again"):
        read(path)


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("unpickled",))


def test_a_changed_file_is_refused(tmp_path):
    path = save(tmp_path, ".npz", x=X)
    identity = identify_captured(str(path))
    identify_captured.cache_clear()
    np.savez(path, x=X + 1)
    with pytest.raises(Unsupported, match=r"has changed: it is #.* now, not #"):
        read_captured(identity, WANTED)


@dataclass(frozen=True)
class Plain:
    seq: int = axis()
    of: str = axis("iid", choices=("iid", "flat"), captured=True)


PLAIN = Family(
    name="plain",
    question="?",
    workload=Plain,
    shapes=lambda w: {"x": Array((w.seq,), "f32"), "y": Array((w.seq,), "f32")},
    inputs=lambda w, rng: {n: rng.standard_normal(w.seq, dtype=np.float32) for n in "xy" if w.of == "iid"},
    semantics={"exact": Semantics("exact", lambda w, rows: lambda x: x, exact())},
)


def rng():
    return np.random.default_rng(3)


def test_missing_inputs_are_drawn_with_the_default(tmp_path):
    path = save(tmp_path, ".npz", x=X[0, 0])
    drawn = draw_inputs(PLAIN, Plain(seq=4), rng())
    mixed = draw_inputs(PLAIN, Plain(seq=4, of=identify_captured(str(path))), rng())
    assert mixed["x"].tolist() == [0, 1, 2, 3]
    assert np.array_equal(mixed["y"], drawn["y"])


def caught(tmp_path, family, workload, **arrays):
    path = save(tmp_path, ".npz", **arrays)
    return draw_inputs(
        family, type(workload)(**vars(workload) | {"distribution": identify_captured(str(path))}), rng()
    )


def test_a_selection_follows_from_captured_scores(tmp_path):
    w = MaskWorkload(rows=2, seq=8, topk=2)
    scores = np.zeros((1, 2, 8), np.float32)
    scores[0, 0, [5, 3]], scores[0, 1, [7, 0]] = (2, 1), (2, 1)
    made = caught(tmp_path, MASK, w, scores=scores)
    assert made["topk_indices"].tolist() == [[[5, 3], [7, 0]]]
    assert made["topk_values"].tolist() == [[[2, 1], [2, 1]]]
    with pytest.raises(Unsupported, match="a selection needs scores"):
        caught(tmp_path, MASK, w, topk_indices=np.zeros((1, 2, 2), np.int32))
    wrong = made | {"topk_indices": made["topk_indices"] + 1}
    with pytest.raises(Unsupported, match='"topk_indices" has 1 to 8; columns are 0 to 7'):
        caught(tmp_path, MASK, w, **wrong)


def test_a_cache_follows_from_its_captured_latents(tmp_path):
    w = MlaWorkload(seq=4, phase="decode", dtype="f64", dim=32, heads=2, kv_lora_rank=8, nope=4, rope=2, v=4)
    latents = np.ones((1, 4, 8))
    made = caught(tmp_path, MLA, w, cache_ckv=latents)
    keys = made["weights"]["wkv_b"].sum(1).reshape(2, 8)[:, :4]
    assert np.allclose(made["cache_k"][0, 0, :, :4], keys)
    with pytest.raises(Unsupported, match="capture cache_k and cache_v"):
        caught(tmp_path, MLA, w, cache_k=made["cache_k"])


def test_block_means_follow_from_captured_keys(tmp_path):
    w = AttentionWorkload(seq=64, stage="decode", heads=2, kv_heads=1, head_dim=8, block=32)
    made = caught(tmp_path, ATTENTION, w, k=np.full((1, 64, 1, 8), 3, np.float32))
    assert (made["means_k"] == 3).all()
    assert not (made["means_v"] == 3).any()


def test_lengths_and_ids_must_make_sense(tmp_path):
    w = AttentionWorkload(seq=64, varlen=True, segments=2, heads=2, kv_heads=1, head_dim=8)
    with pytest.raises(Unsupported, match="must ascend from 0 to seq, 64"):
        caught(tmp_path, ATTENTION, w, cu_seqlens=np.array([0, 32, 32], np.int32))
    w = OffsetsWorkload(seq=64)
    ids = np.zeros((1, 64), np.int32)
    rows = {f"{name}_{side}": ids for name in ("segment_ids", "positions") for side in ("q", "kv")}
    assert (caught(tmp_path, OFFSETS, w, **rows)["segment_ids_q"] == 0).all()
    with pytest.raises(Unsupported, match="ids and positions must be captured together"):
        caught(tmp_path, OFFSETS, w, segment_ids_q=ids)
    with pytest.raises(Unsupported, match='"segment_ids_q" has 17 to 17'):
        caught(tmp_path, OFFSETS, w, **rows | {"segment_ids_q": ids + 17})
