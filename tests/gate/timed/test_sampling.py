"""Samples of both sides in turns: known ratios are found, and impossible times are refused."""

import math
import re

import pytest

from harness.core.errors import Unsupported
from harness.gate.outcome import INCORRECT, INVALID, NEW, REGRESSED, VANISHED
from harness.gate.timed.paired_case import SAMPLES, ProcessEnded
from harness.gate.timed.sampling import WARM_BATCHES
from harness.run.processes.executor import Ended
from tests.gate.timed.fakes import World
from tests.run.fakes import Act

NUMBER = re.compile(r"result-\d+")  # a result's name, chosen by the runner


def slower(seconds, **more):
    return {"scatter": Act(seconds=seconds, **more)}


def turns(world, side):
    return len(world.ordinary_turns(side))


def test_a_known_ratio_comes_out_exactly(tmp_path):
    found = World(tmp_path, slower(1.25e-3)).results()["scatter"]
    assert found.log_ratios == (math.log(1.25e-3 / 1e-3),) * 20
    assert found.levels_s == (1.25e-3, 1e-3)
    assert found.tail == pytest.approx(math.log(1.25))


def test_swapped_sides_negate_every_round(tmp_path):
    noise = (1.0, 1.3, 1.1, 1.2, 1.05, 1.4, 1.15)
    one = World(tmp_path, slower(1.25e-3, noise=noise)).results()["scatter"]
    other = World(tmp_path, None, slower(1.25e-3, noise=noise)).results()["scatter"]
    assert len(set(one.log_ratios)) > 1
    assert other.log_ratios == pytest.approx([-ratio for ratio in one.log_ratios])
    assert other.levels_s == tuple(reversed(one.levels_s))
    assert other.tail == pytest.approx(-one.tail)


def test_the_smallest_sample_of_a_turn_counts(tmp_path):
    found = World(tmp_path, slower(1e-3, noise=(5.0, 1.0, 3.0, 9.0))).results()["scatter"]
    assert found.log_ratios == (0.0,) * 20
    assert found.tail == pytest.approx(math.log(9))  # the others count here


def test_short_calls_are_repeated_equally_on_both_sides(tmp_path):
    world = World(tmp_path, slower(2e-5), slower(4e-5))
    assert world.results()["scatter"].levels_s == (2e-5, 4e-5)
    assert {asked["inner"] for side in ("candidate", "base") for asked in world.ordinary_turns(side)} == {25}


@pytest.mark.parametrize(("seconds", "rounds", "warm"), [(1e-3, 20, 2), (0.1, 10, 1), (0.3, 5, 1)])
def test_slow_cases_have_fewer_rounds(tmp_path, seconds, rounds, warm):
    world = World(tmp_path, slower(seconds), slower(seconds))
    assert len(world.results()["scatter"].log_ratios) == rounds
    assert turns(world, "candidate") == turns(world, "base") == rounds + warm


def test_both_sides_are_warm_before_a_round_counts(tmp_path):
    noise = tuple(3.0 - 0.1 * turn for turn in range(20)) + (1.0,) * 2000
    world = World(tmp_path, slower(1e-3, noise=noise))
    assert world.results()["scatter"].log_ratios == (0.0,) * 20
    assert turns(world, "candidate") == turns(world, "base") == 20 + WARM_BATCHES


def test_the_order_of_the_sides_is_random(tmp_path):
    world = World(tmp_path)
    world.results()
    who = world.executor.turns()
    firsts = {tuple(who[at : at + 2]) for at in range(0, len(who), 2)}
    assert firsts == {("candidate:scatter", "base:scatter"), ("base:scatter", "candidate:scatter")}


def test_both_sides_get_the_same_requests_in_the_same_order(tmp_path):
    world = World(tmp_path, slower(1.5e-3), names=("scatter", "threshold", "plain"), seqs=(1024, 2048))
    world.pair()
    sides = {"candidate": [], "base": []}
    for name, *rest in world.asked:
        side, _, case = name.partition(":")
        if case:
            sides[side].append((case, *(NUMBER.sub("", str(part)) for part in rest)))
    assert sides["candidate"] == sides["base"]


@pytest.mark.parametrize("wrong", [0.0, -1e-3, math.nan, math.inf])
@pytest.mark.parametrize("side", ["candidate", "base"])
def test_a_time_that_is_not_positive_is_refused(tmp_path, wrong, side):
    act = {"scatter": Act(verbs={"sample": {"samples_s": [1e-3] * (SAMPLES - 1) + [wrong]}})}
    world = World(tmp_path, **{side: act})
    with pytest.raises(ProcessEnded):  # the other cases of the pair run again in another process
        world.pair()
    assert world.paired().verdict == INVALID
    assert world.paired().reason.startswith(
        f'the {side} ended its process: it replied to "sample" in an invalid form'
    )


def test_compiling_in_a_timed_turn_is_invalid(tmp_path):
    world = World(tmp_path, slower(1e-3, verbs={"sample": {"compiled": 1}}))
    why = "the candidate compiles in timed code; use the same shapes in every call"
    assert world.end() == (INVALID, why)


def test_compiling_during_warm_up_is_allowed(tmp_path):
    answers = iter([{"compiled": 1}])
    world = World(tmp_path, slower(1e-3, verbs={"sample": lambda _: next(answers, {})}))
    assert "scatter" in world.results()


RAISED = [
    ("candidate", Ended("crashed", "ValueError: x", alive=True), INVALID, "the candidate is crashed: "),
    ("base", Ended("crashed", "ValueError: x", alive=True), NEW, "cannot be compared, because"),
    ("candidate", Ended("oom", "MemoryError", alive=True), REGRESSED, "the base fits in memory, the cand"),
    ("candidate", Unsupported("not now"), VANISHED, "the base runs, the candidate is unsupported: not now"),
]


@pytest.mark.parametrize(("side", "raised", "verdict", "reason"), RAISED)
def test_errors_between_samples(tmp_path, side, raised, verdict, reason):
    calls = iter([{}] * 9)
    act = {"scatter": Act(verbs={"sample": lambda _: next(calls, raised)})}
    world = World(tmp_path, **{side: act}, names=("scatter", "threshold"))
    assert set(world.results()) == {"threshold"}
    assert (world.paired().verdict, world.paired().reason[: len(reason)]) == (verdict, reason)


def test_results_are_verified_again_after_timing(tmp_path):
    world = World(tmp_path, names=("scatter", "threshold"), wrong=["candidate:scatter/2"])
    assert set(world.results()) == {"threshold"}
    assert world.paired().verdict == INCORRECT
    assert world.paired().reason.startswith("its result depends on earlier calls")


def recalling(arguments):
    """A call takes five times as long for new values as for repeated ones."""
    return {"samples_s": [5e-3, 1e-3, 1e-3, 1e-3][: arguments["readings"]]} if "fresh" in arguments else {}


@pytest.mark.parametrize(("side", "verdict"), [("candidate", INCORRECT), ("base", NEW)])
def test_a_side_that_memoizes_results_is_not_timed(tmp_path, side, verdict):
    world = World(tmp_path, **{side: slower(1e-3, verbs={"sample": recalling})})
    assert world.end()[0] == verdict
    assert "caches results by input value: 5.00 ms for new inputs" in world.paired().reason
