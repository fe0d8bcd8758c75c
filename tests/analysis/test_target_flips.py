import json
from dataclasses import asdict

import pytest

from harness.analysis.results import BODY_ONLY, HOST
from harness.analysis.target_flips import target_flips

GB = 10**9


def pair(record, base, mine):
    """One length, `base` and `mine`: target → figures."""
    return [record("base", 16384, static=base), record("x", 16384, static=mine)]


def of(found, figure="temp_bytes"):
    (only,) = [one for one in found if one.figure == figure]
    return only


def test_a_mask_of_rows_as_many_as_keys_saves_here_and_costs_there(record, suite, static):
    """design.md's figures: broadcast against scatter, 567 GB to 0.5 GB on the CPU, 0.27 to 1.5 on v5e."""
    base = {HOST: static(temp_bytes=567 * GB), "tpu:v5e": static(temp_bytes=27 * GB // 100)}
    mine = {HOST: static(temp_bytes=GB // 2), "tpu:v5e": static(temp_bytes=3 * GB // 2)}
    found = of(target_flips(suite(pair(record, base, mine))))
    assert (found.less, found.same, found.more, found.turns) == ((HOST,), (), ("tpu:v5e",), True)
    assert json.loads(json.dumps(asdict(found)))["turns"] is True


VERDICTS = {98: "less", 99: "same", 100: "same", 101: "same", 102: "more", 0: "less"}


@pytest.mark.parametrize(("mine", "verdict"), VERDICTS.items())
def test_within_one_percent_is_the_same(record, suite, static, mine, verdict):
    same = {HOST: static(temp_bytes=100), "tpu:v5p": static(temp_bytes=100)}
    records = pair(record, same, {**same, "tpu:v5p": static(temp_bytes=mine)})
    found = of(target_flips(suite(records)))
    assert "tpu:v5p" in getattr(found, verdict)
    assert not found.turns


@pytest.mark.parametrize(("mine", "verdict"), [(0, "same"), (1, "more")])
def test_a_baseline_that_needs_nothing_still_gives_a_verdict(record, suite, static, mine, verdict):
    base = {HOST: static(temp_bytes=0), "tpu:v5p": static(temp_bytes=8)}
    own = {HOST: static(temp_bytes=mine), "tpu:v5p": static(temp_bytes=8)}
    assert HOST in getattr(of(target_flips(suite(pair(record, base, own)))), verdict)


def test_what_cannot_be_compared_has_a_reason_and_no_verdict(record, suite, static):
    base = {HOST: static(flops=8.0), "tpu:v5e": static(flops=8.0), "cuda:h200": static(flops=8.0)}
    base["tpu:v5p"] = static(unavailable={"flops": "no cost"})
    mine = {HOST: static(flops=8.0, flops_source="matmul_only"), "tpu:v5p": static(flops=8.0)}
    mine["tpu:v5e"] = static(flops=4.0, body_only=True)
    found = of(target_flips(suite(pair(record, base, mine))), "flops")
    assert (found.less, found.same, found.more, found.turns) == ((), (), (), False)
    assert found.unavailable == {
        HOST: "counted differently: matmul_only, the baseline's compiled",
        "tpu:v5e": BODY_ONLY,
        "tpu:v5p": "baseline: no cost",
        "cuda:h200": "not compiled",
    }


def test_temporaries_are_known_where_a_loops_length_is_not(record, suite, static):
    base = {HOST: static(temp_bytes=8, bytes_accessed=8.0), "tpu:v5p": static(temp_bytes=8)}
    mine = {HOST: static(temp_bytes=4, bytes_accessed=4.0, body_only=True), "tpu:v5p": static(temp_bytes=9)}
    found = target_flips(suite(pair(record, base, mine)))
    assert of(found).turns
    assert of(found, "bytes_accessed").less == ()


def test_one_target_or_no_baseline_has_nothing_that_could_turn(record, suite, static):
    one = pair(record, {HOST: static(temp_bytes=2)}, {HOST: static(temp_bytes=1)})
    assert target_flips(suite(one)) == []
    both = {HOST: static(temp_bytes=2), "tpu:v5p": static(temp_bytes=1)}
    assert target_flips(suite(pair(record, both, both), baseline="")) == []
