import pytest

from harness.core.case import Case, matches, matching_ids, split_id, split_label, split_list
from harness.core.errors import UsageError

WORKLOAD = {"seq": 65536, "dtype": "f32", "recall": 0.95, "window": None, "causal": True}
CASE = Case.of("topk/two_stage", {"keep": 2, "buckets": 4096}, WORKLOAD)


def test_an_id_is_sorted_and_complete():
    assert CASE.id == (
        "topk/two_stage[buckets=4096,keep=2]@causal=true,dtype=f32,recall=0.95,seq=65536,window=none:fwd:cpu"
    )


def test_a_group_leaves_the_implementation_out_and_a_series_the_length():
    other = Case.of("topk/exact", {}, dict(CASE.workload))
    longer = Case.of(CASE.implementation, dict(CASE.options), {**dict(CASE.workload), "seq": 131072})
    assert other.group == CASE.group != longer.group
    assert longer.series == CASE.series != other.series
    assert (longer.seq, longer.family) == (131072, "topk")


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


BUCKETS = "topk/two_stage[buckets=4096,keep=2]@batch=1,seq=16384:fwd:cpu"
SCATTER = "mask/scatter@batch=1,seq=16384:fwd:cpu"
LONGER = "mask/scatter@batch=1,seq=65536:fwd:cpu"
IDS = (BUCKETS, SCATTER, LONGER)


@pytest.mark.parametrize(
    ("pattern", "case_id", "found"),
    [
        (BUCKETS, BUCKETS, True), ("topk/two_stage[[]buckets*", BUCKETS, False),
        ("topk/two_stage[buckets=4096,keep=?]@*", BUCKETS, True),
        ("topk/two_stage[buckets=409,keep=2]@*", BUCKETS, False), ("topk/two_stage[!a]*", BUCKETS, False),
        ("*keep=2]*", BUCKETS, True), ("mask/scatter", SCATTER, False), ("mask/scatter@*", SCATTER, True),
        ("MASK/*", SCATTER, False), ("*:cpu", SCATTER, True), ("*:cp", SCATTER, False),
        ("", SCATTER, False), ("mask.scatter@*", SCATTER, False), ("*" * 40 + "x", SCATTER * 20, False),
    ],
)  # fmt: skip
def test_only_stars_and_question_marks_are_special(pattern, case_id, found):
    assert matches(pattern, case_id) is found


def test_chosen_are_in_the_order_of_the_ids_and_stand_once():
    assert matching_ids(["mask/*", "*seq=16384*"], IDS) == IDS
    assert matching_ids([LONGER, SCATTER], IDS) == (SCATTER, LONGER)
    assert matching_ids([], IDS) == ()


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("mask/scater@*", 'nearest: "mask/scatter@*"'),
        ("mask/scatter", 'nearest: "mask/scatter@*"'),
        ("mask/scatter@batch=1,seq=65535:fwd:cpu", f'nearest: "{LONGER}"'),
        ("zzz", f'an id is written like "{BUCKETS}"'),
    ],
)
def test_a_pattern_that_matches_nothing_says_what_is_near(pattern, hint):
    with pytest.raises(UsageError) as caught:
        matching_ids(["mask/*", pattern], IDS)
    assert str(caught.value) == f'--cases: no case matches "{pattern}"; {hint}'


def test_a_place_other_than_the_flag():
    with pytest.raises(UsageError, match=r"^bench\.yaml:7: no case matches .*; no case is left"):
        matching_ids(["x"], (), "bench.yaml:7")
