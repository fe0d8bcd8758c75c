"""A workload that Python code builds holds what bench.yaml would hold it to, in every family."""

import dataclasses

import pytest

from harness.core.errors import UsageError
from harness.core.workload import Workload, fields_of
from impls.attention.workload import AttentionWorkload
from impls.mask.workload import MaskWorkload
from impls.mla.workload import MlaWorkload
from impls.offsets.workload import OffsetsWorkload
from impls.topk.workload import TopkWorkload

WORKLOADS = (AttentionWorkload, MaskWorkload, MlaWorkload, OffsetsWorkload, TopkWorkload)
ALL = [
    pytest.param(kind, field, id=f"{kind.__name__}.{field.name}")
    for kind in WORKLOADS
    for field in fields_of(kind)
]
WRONG = {
    "int": (-1, 2**63, 1.5, True, "4096", None),
    "float": (float("nan"), float("inf"), True, "0.5", None),
    "bool": (1, "true", None),
    "str": (1, None),
}


@pytest.mark.parametrize("kind", WORKLOADS)
def test_every_family_is_held(kind):
    assert issubclass(kind, Workload)
    assert kind(seq=4096) == kind(**dataclasses.asdict(kind(seq=4096)))


@pytest.mark.parametrize(("kind", "field"), ALL)
def test_no_field_takes_what_it_does_not_declare(kind, field):
    for wrong in WRONG[field.kind] + (("nonsense",) if field.choices else ()):
        with pytest.raises(UsageError, match=f"^{kind.__name__}: .*{field.name} ") as refused:
            kind(**{"seq": 64, field.name: wrong})
        with pytest.raises(ValueError, match=field.name) as said:
            field.check(wrong)
        assert str(refused.value) == f"{kind.__name__}: {said.value}"


def test_python_and_bench_yaml_say_the_same():
    kind = {field.name: field for field in fields_of(OffsetsWorkload)}["kind"]
    with pytest.raises(ValueError, match='unknown kind "nonsense"; known: ') as parsed:
        kind.parse("nonsense")
    with pytest.raises(UsageError) as built:
        OffsetsWorkload(seq=64, kind="nonsense")
    assert str(built.value) == f"OffsetsWorkload: {parsed.value}"


def test_a_whole_number_is_a_float_where_the_field_is_one():
    assert repr(TopkWorkload(seq=64, recall=1).recall) == "1.0"


def test_a_file_is_called_by_its_hash_and_one_that_is_missing_is_said(tmp_path):
    path = tmp_path / "documents.csv"
    path.write_text("tokens\n64\n")
    held = OffsetsWorkload(seq=64, lengths=str(path)).lengths
    assert held == OffsetsWorkload(seq=64, lengths=held).lengths
    assert held.startswith(f"{path}#")
    for field, name in (("lengths", "absent.csv"), ("distribution", "absent.npz")):
        with pytest.raises(UsageError, match=f"OffsetsWorkload: {name} cannot be read"):
            OffsetsWorkload(seq=64, **{field: name})
