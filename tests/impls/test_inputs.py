"""Workloads enforce their fields' declarations; inputs have declared shapes and depend on the seed."""

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import yaml

from harness.catalog.arrays import walk
from harness.core.errors import UsageError
from harness.core.workload import fields_of, shown_fields
from impls.attention.workload import AttentionWorkload
from impls.offsets.workload import OffsetsWorkload
from tests.impls.torch_case import flat
from tests.impls.variants import FAMILIES, products

WORKLOADS = yaml.safe_load(Path(__file__).with_name("inputs.yaml").read_text())


def cases():
    for name, entries in WORKLOADS.items():
        known = {field.name: field for field in fields_of(FAMILIES[name].workload)}
        for entry in entries:
            every = {field: [*known[field].choices] for field, value in entry.items() if value == "<all>"}
            for w in products(name, {**entry, **every}):
                yield pytest.param(FAMILIES[name], w, id=f"{name}-{list(asdict(w).values())}")


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize(("family", "w"), [*cases()])
def test_inputs_are_as_their_shapes_say_and_follow_the_seed(family, w):
    first, again, other = (family.inputs(w, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert flat(family.shapes(w)) == flat(first)
    for (_, array), (_, same) in zip(walk(first), walk(again), strict=True):
        assert np.array_equal(array, same)
        assert array.dtype.kind in "iuc" or not np.isnan(array.astype(np.float64)).any()
    pairs = zip(walk(first), walk(other), strict=True)
    assert any(not np.array_equal(array, another) for (_, array), (_, another) in pairs)


SHOWN = {
    "attention": "batch block causal dtype gated head_dim heads kv_heads selected seq varlen window",
    "mask": "batch dtype rows seq topk",
    "mla": "batch causal config dtype phase seq",
    "offsets": "batch kind layout max_segments seq",
    "topk": "batch distribution dtype recall rows seq topk",
}


@pytest.mark.parametrize("family", FAMILIES)
def test_only_seq_must_be_given_and_ids_show_what_they_always_showed(family):
    """Fields that were added later are part of an id only if they differ, so ids of stored records stay."""
    workload = FAMILIES[family].workload
    assert sorted(shown_fields(fields_of(workload), asdict(workload(seq=4096)))) == SHOWN[family].split()


@pytest.mark.parametrize("packing", ["first_fit", "best_fit_decreasing"])
@pytest.mark.parametrize("seed", range(8))
def test_packed_documents_are_whole_and_in_a_drawn_order(packing, seed):
    """At 128Ki both families read the same documents, each once, with the padding after them."""
    seq, known = 131072, {"lengths": "pretrain", "packing": packing, "packing_seed": seed}
    row = OffsetsWorkload(seq=seq, max_segments=2048, **known)
    orders = []
    for order in range(3):
        ids = FAMILIES["offsets"].inputs(row, np.random.default_rng(order))["segment_ids_q"][0]
        firsts = np.flatnonzero(np.diff(ids, prepend=-1))
        spans = np.diff(firsts, append=seq)
        found = [int(span) for span, first in zip(spans, firsts, strict=True) if ids[first]]
        assert sorted(found) == sorted(row.packed[0])
        assert list(ids[ids != 0]) == sorted(ids[ids != 0])
        assert not ids[sum(found) :].any()
        orders.append(found)
    assert len(row.packed[0]) < 3 or len({tuple(found) for found in orders}) > 1
    w = AttentionWorkload(seq=seq, varlen=True, heads=1, kv_heads=1, head_dim=1, gated=False, **known)
    cuts = FAMILIES["attention"].inputs(w, np.random.default_rng(0))["cu_seqlens"]
    lengths = np.diff(cuts)
    assert (cuts[0], cuts[-1]) == (0, seq)
    assert lengths.min() > 0
    assert sorted(lengths[: len(row.packed[0])]) == sorted(row.packed[0])


FIELDS = [
    pytest.param(family.workload, field, id=f"{name}.{field.name}")
    for name, family in FAMILIES.items()
    for field in fields_of(family.workload)
]
WRONG = {
    "int": (-1, 2**63, 1.5, True, "4096", None),
    "float": (float("nan"), float("inf"), True, "0.5", None),
    "bool": (1, "true", None),
    "str": (1, None),
}


@pytest.mark.parametrize(("kind", "field"), FIELDS)
def test_no_field_takes_what_it_does_not_declare(kind, field):
    for wrong in WRONG[field.kind] + (("nonsense",) if field.choices else ()):
        with pytest.raises(UsageError, match=f"^{kind.__name__}: .*{field.name} ") as refused:
            kind(**{"seq": 64, field.name: wrong})
        with pytest.raises(ValueError, match=field.name) as said:
            field.check(wrong)
        assert str(refused.value) == f"{kind.__name__}: {said.value}"


def test_a_file_is_called_by_its_hash_and_one_that_is_missing_is_said(tmp_path):
    path = tmp_path / "documents.csv"
    path.write_text("tokens\n64\n")
    held = OffsetsWorkload(seq=64, lengths=str(path)).lengths
    assert held == OffsetsWorkload(seq=64, lengths=held).lengths
    assert held.startswith(f"{path}#")
    for field, name in (("lengths", "absent.csv"), ("distribution", "absent.npz")):
        with pytest.raises(UsageError, match=f"OffsetsWorkload: {name} cannot be read"):
            OffsetsWorkload(seq=64, **{field: name})
