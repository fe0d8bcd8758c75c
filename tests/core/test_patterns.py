import pytest

from harness.core.errors import UsageError
from harness.core.patterns import matches, matching_ids

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
