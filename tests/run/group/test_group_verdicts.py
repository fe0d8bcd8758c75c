"""Contract before clock: who is judged, when, and what a failing judge does to whom."""

import itertools

import pytest

from harness.core.errors import Unsupported
from harness.core.remedy import BY_STATUS
from harness.run.group import sampling
from harness.run.group.sampling import CONFIRMATIONS
from harness.run.processes.executor import Ended
from tests.run.fakes import Act, FakeExecutor
from tests.run.plans import context, measure, reason, timing


def judging(result, outcome):
    """What its reference worker does when it judges one result, as in `scatter/1`."""

    def judge(arguments):
        return outcome if executor.results[arguments["result"]] == result else {}

    executor = FakeExecutor(reference=Act(verbs={"judge": judge}))
    return executor  # which `judge` reads


def test_contract_is_checked_before_timing(tmp_path):
    executor = FakeExecutor()
    measure(executor, tmp_path)
    verbs = [verb for *_, verb, _ in executor.asked]
    before = verbs[: verbs.index("sample")]
    last_verdict = max(index for index, verb in enumerate(before) if verb == "judge")
    assert before.count("judge") == before.count("check") == 2
    assert verbs.index("inputs") < verbs.index("reference") < verbs.index("check") < last_verdict
    assert last_verdict < verbs.index("ready") < verbs.index("sample")


LATER = (
    "its result depends on earlier calls: the first call passed, but a timed call failed "
    "on new input values ({})"
)
CHANGED = 'it changes its input "scores", which the next call gets'


@pytest.mark.parametrize("name", ["scatter", "broadcast"])
@pytest.mark.parametrize(
    ("expected", "call", "verdict", "status", "unexpected", "says"),
    [
        (None, 1, {}, "incorrect", True, "3 elements differ"),
        (None, 2, {}, "incorrect", True, LATER.format("3 elements differ")),
        ("#1", 1, {}, "incorrect", False, "3 elements differ; expected: #1"),
        ("#1", None, {}, "ok", True, "expected to be incorrect (#1), but passes its contract"),
        (None, 1, {"changed": "scores"}, "incorrect", True, CHANGED),  # although the answer is right
        (None, 2, {"changed": "scores"}, "incorrect", True, LATER.format(CHANGED)),
    ],
)
def test_incorrect_case_is_not_timed_and_keeps_its_figures(
    tmp_path, name, expected, call, verdict, status, unexpected, says
):
    result = f"{name}/{call}"
    executor = judging(result, verdict) if verdict else FakeExecutor(wrong=[result])
    executor.acts = {name: Act(expected=expected)}
    found = measure(executor, tmp_path)
    case, other = found.pop(name), found.popitem()[1]
    assert (case.status, case.unexpected, case.reason, case.timing) == (status, unexpected, says, None)
    assert (case.expected, case.correctness.passed) == (expected is not None, status == "ok")
    assert ("sample" in executor.verbs(name)) is (call == 2)
    assert timing(other).stopped == "interval"


@pytest.mark.parametrize("verb", ["inputs", "reference"])
@pytest.mark.parametrize("status", ["oom", "timeout"])
def test_reference_oom_or_timeout_makes_no_case_incorrect(tmp_path, verb, status):
    executor = FakeExecutor(reference=Act(verbs={verb: Ended(status, "raise --memory")}))
    shared = context(executor, tmp_path)
    found = measure(executor, tmp_path, shared=shared)
    assert {record.status for record in found.values()} == {"skipped"}
    assert all(f"({status}: raise --memory)" in reason(record) for record in found.values())
    assert {record.remedy for record in found.values()} == {BY_STATUS[status]}
    assert shared.predictor.failures == {}
    assert executor.turns() == []


@pytest.mark.parametrize("verb", ["inputs", "reference", "judge"])
@pytest.mark.parametrize("status", ["unjudged", "crashed"])
def test_family_code_error_leaves_cases_untimed(tmp_path, verb, status):
    executor = FakeExecutor(reference=Act(verbs={verb: Ended(status, "ValueError: bad", alive=True)}))
    found = measure(executor, tmp_path)
    assert {record.status for record in found.values()} == {status}
    assert reason(found["scatter"]).endswith("cannot be computed: ValueError: bad")


@pytest.mark.parametrize(
    "act",
    [Act(verbs={"inputs": Unsupported("topk ≥ seq")}), Act(spawn=Unsupported("topk ≥ seq"))],
    ids=["by its family", "without its framework"],
)
def test_a_group_whose_reference_is_refused_is_unsupported(tmp_path, act):
    found = measure(FakeExecutor(reference=act), tmp_path)
    assert {(record.status, record.reason) for record in found.values()} == {("unsupported", "topk ≥ seq")}


DIED = Ended("crashed", "killed by SIGKILL")


def test_no_case_is_timed_without_a_reference_worker(tmp_path):
    found = measure(judging("broadcast/1", DIED), tmp_path)
    assert {(record.status, record.timing) for record in found.values()} == {("crashed", None)}
    assert reason(found["broadcast"]).endswith(
        "the check of its result cannot be computed: killed by SIGKILL"
    )
    assert reason(found["scatter"]).endswith("the reference process of this group has died")


def test_fresh_inputs_have_another_seed_in_every_run(tmp_path):
    def seeds(number):
        executor = FakeExecutor()
        measure(executor, tmp_path / str(number))
        return {arguments["seed"] for *_, verb, arguments in executor.asked if verb == "fresh"}

    assert len(seeds(1) | seeds(2)) == 4


def judged_in(executor, name):
    """The fresh inputs of a case's turns; None where a turn is not judged."""
    turns = [arguments for who, _, verb, arguments in executor.asked if (who, verb) == (name, "sample")]
    return [arguments.get("fresh", {}).get("inputs") for arguments in turns]


def test_every_case_has_two_verified_timed_calls(tmp_path):
    executor = FakeExecutor()
    measure(executor, tmp_path)
    for name in ("broadcast", "scatter"):
        assert [*filter(None, judged_in(executor, name))] == ["fresh0", "fresh1"]


def test_a_long_call_is_verified_once_and_its_time_is_a_sample(tmp_path):
    executor = FakeExecutor({"scatter": Act(seconds=15)})
    found = timing(measure(executor, tmp_path)["scatter"])
    assert judged_in(executor, "scatter") == [None, "fresh1"]
    assert len(found.samples_s) == 2


def recalling(seconds, again, calls=99):
    """A case that is fast on values that it has seen, and slow on so many that it has not."""
    left = itertools.repeat(True, calls)

    def sample(arguments):
        if "fresh" not in arguments:
            return {}
        first = seconds if next(left, False) else again
        return {"samples_s": [first, again, again][: arguments["readings"]]}

    return Act(seconds=again, verbs={"sample": sample})


def test_result_cached_by_input_value_is_detected(tmp_path):
    executor = FakeExecutor({"scatter": recalling(5e-3, 1e-3)})
    found = measure(executor, tmp_path)["scatter"]
    assert (found.status, found.timing) == ("incorrect", None)
    assert found.reason == (
        "caches results by input value: 5.00 ms for new inputs, 1.00 ms for repeated ones"
    )
    asked = {arguments["name"] for *_, verb, arguments in executor.asked if verb == "fresh"}
    control = 1  # a rival's call in the same moment
    assert asked == {f"fresh{number}" for number in range(2 + CONFIRMATIONS + control)}


def doubt_of(record):
    (sentence,) = [each for each in timing(record).warnings if "possibly caches results" in each]
    return sentence


@pytest.mark.parametrize(("load", "status"), [(0.5, "ok"), (0.1, "incorrect")])
def test_no_memoization_verdict_while_other_programs_use_the_processor(tmp_path, monkeypatch, load, status):
    monkeypatch.setattr(sampling.Interference, "other_load", lambda _: load)
    act = recalling(5e-3, 1e-3)
    sample = act.verbs["sample"]
    act.verbs["sample"] = lambda arguments: {**sample(arguments), "queued": 0.5}
    found = measure(FakeExecutor({"scatter": act}), tmp_path)["scatter"]
    assert found.status == status
    if status == "ok":
        assert doubt_of(found).endswith(
            "; but other programs used the processor, so measure again on a quiet machine"
        )


def test_no_memoization_verdict_if_another_case_is_also_slow(tmp_path):
    acts = {"scatter": recalling(5e-3, 1e-3), "broadcast": recalling(5e-3, 1e-3)}
    calls, slow = itertools.count(), acts["broadcast"].verbs["sample"]

    def late(arguments):  # it is slow on new values from its third verified call on
        return slow(arguments) if "fresh" in arguments and next(calls) >= 2 else {}

    acts["broadcast"].verbs["sample"] = late
    found = measure(FakeExecutor(acts), tmp_path)["scatter"]
    assert found.status == "ok"
    assert "; but so does mask/broadcast now" in doubt_of(found)


@pytest.mark.parametrize(
    ("act", "status"),
    [
        (recalling(2.9e-3, 1e-3), "ok"),
        (recalling(3.1e-3, 1e-3), "incorrect"),  # a little more than threefold
        (recalling(1e-4, 1e-5), "ok"),
        (recalling(1.9e-4, 1.5e-5), "ok"),  # its code has left the caches meanwhile
        (recalling(5e-3, 1e-3, calls=CONFIRMATIONS), "ok"),
    ],
)
def test_disturbed_call_is_not_memoization(tmp_path, act, status):
    assert measure(FakeExecutor({"scatter": act}), tmp_path)["scatter"].status == status


def hesitating(seconds, *, busier=False):
    """A case that is slow on values that it has not seen, and on those that come next.

    On a machine that is `busier` at the end all turns are slow then.
    """
    judged = []

    def sample(arguments):
        judged.extend(["it"] if "fresh" in arguments else [])
        slow = "fresh" in arguments or (busier and len(judged) >= 2)
        return {"samples_s": [seconds] * arguments["readings"]} if slow else {}

    return Act(verbs={"sample": sample})


@pytest.mark.parametrize(("seconds", "status"), [(5.9e-3, "ok"), (6.1e-3, "incorrect")])
def test_delayed_cache_is_detected_from_samples(tmp_path, seconds, status):
    found = measure(FakeExecutor({"scatter": hesitating(seconds)}), tmp_path)["scatter"]
    assert found.status == status
    if status == "incorrect":
        assert reason(found) == (
            "caches results by input value: 6.10 ms for new inputs, 1.00 ms for repeated ones"
        )


def test_busier_machine_at_the_end_is_not_memoization(tmp_path):
    executor = FakeExecutor({"scatter": hesitating(9e-3, busier=True)})
    assert measure(executor, tmp_path)["scatter"].status == "ok"
    drawn = {arguments["name"] for *_, verb, arguments in executor.asked if verb == "fresh"}
    assert drawn == {"fresh0", "fresh1", "fresh2"}, "the first look beside ordinary turns clears it"
