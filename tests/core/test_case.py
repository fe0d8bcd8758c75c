import pytest

from harness.core.case import Case, label, split_id, split_label, split_list

WORKLOAD = {"seq": 65536, "dtype": "f32", "recall": 0.95, "window": None, "causal": True}
CASE = Case.of("topk/two_stage", {"keep": 2, "buckets": 4096}, WORKLOAD)


def test_an_id_is_sorted_and_complete():
    assert CASE.id == (
        "topk/two_stage[buckets=4096,keep=2]@causal=true,dtype=f32,recall=0.95,seq=65536,window=none:fwd:cpu"
    )


def test_the_order_of_arguments_does_not_matter():
    turned = dict(reversed(WORKLOAD.items()))
    again = Case.of("topk/two_stage", {"buckets": 4096, "keep": 2}, turned)
    assert again == CASE
    assert hash(again) == hash(CASE)


def test_a_group_leaves_the_implementation_out_and_a_series_the_length():
    other = Case.of("topk/exact", {}, dict(CASE.workload))
    longer = Case.of(CASE.implementation, dict(CASE.options), {**dict(CASE.workload), "seq": 131072})
    assert other.group == CASE.group != longer.group
    assert longer.series == CASE.series != other.series
    assert (longer.seq, longer.family) == (131072, "topk")


def test_mode_and_device_are_part_of_everything():
    ids = {
        (case.id, case.group, case.series)
        for case in (
            Case.of("mask/scatter", {}, {"seq": 8}, mode, device)
            for mode in ("fwd", "bwd")
            for device in ("cpu", "cuda")
        )
    }
    assert len(ids) == 4


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("scatter", ("scatter", {})),
        ("topk/two_stage[buckets=64, keep=2]", ("topk/two_stage", {"buckets": "64", "keep": "2"})),
        ("two_stage[]", ("two_stage", {})),
    ],
)
def test_a_label_splits(text, parts):
    assert split_label(text) == parts


def test_a_label_survives_the_round_trip():
    name, options = split_label(CASE.label)
    assert label(name, options) == CASE.label


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a[b", "is not an implementation"),
        ("a[keep]", "has no value"),
        ("a[keep=1,keep=2]", "stands twice"),
        ("", "is not an implementation"),
    ],
)
def test_a_broken_label_is_explained(text, says):
    with pytest.raises(ValueError, match=says):
        split_label(text)


def test_an_id_survives_the_round_trip():
    parts = split_id(CASE.id)
    assert parts == (CASE.label, CASE.point, CASE.mode, CASE.device)
    assert ",".join(f"{field}={value}" for field, value in parts.fields.items()) == CASE.point


def test_a_text_field_may_hold_what_divides_an_id():
    case = Case.of("mask/scatter", {}, {"kind": "a:b@c", "seq": 64})
    assert split_id(case.id) == ("mask/scatter", "kind=a:b@c,seq=64", "fwd", "cpu")


@pytest.mark.parametrize("text", ["topk/exact", "topk/exact@seq=64", "topk/exact@seq=64:fwd", ""])
def test_another_text_than_an_id_is_refused(text):
    with pytest.raises(ValueError, match="does not end a case id; write field=value"):
        split_id(text)


def test_commas_inside_brackets_do_not_split():
    assert split_list("a, b[x=1,y=2],,c") == ["a", "b[x=1,y=2]", "c"]
