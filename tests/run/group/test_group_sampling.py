"""Rounds: shuffled by the seed, everyone once a round, until each has enough."""

import dataclasses
import itertools

import pytest

from harness.core.median_interval import samples_needed
from harness.run.group import sampling
from harness.run.group.run_context import ProfileExtras
from harness.run.machine.device_memory import DeviceMemory
from harness.run.processes.executor import Ended
from tests.run.fakes import MIB, Act, FakeExecutor, Heard, at
from tests.run.plans import SETTINGS, context, group, measure, timing

THREE = ("broadcast", "scatter", "threshold")


def turns(tmp_path, **more):
    executor = FakeExecutor()
    measure(executor, tmp_path, **more)
    return executor.turns()


def test_every_round_has_every_case_in_a_seeded_order(tmp_path):
    first = turns(tmp_path, one=group(THREE))
    rounds = [tuple(one) for one in zip(*[iter(first)] * len(THREE), strict=True)]
    assert {tuple(sorted(one)) for one in rounds} == {THREE}
    assert len(set(rounds)) > 1
    assert turns(tmp_path, one=group(THREE)) == first
    assert turns(tmp_path, one=group(THREE, settings=dataclasses.replace(SETTINGS, seed=1))) != first
    assert turns(tmp_path, one=group(THREE, seq=2048)) != first
    assert turns(tmp_path, one=group(THREE), replicate=1) != first


def test_samples_carry_their_round(tmp_path):
    found = timing(measure(FakeExecutor(), tmp_path)["scatter"])
    assert len(found.samples_s) == len(found.round) == 3 * samples_needed()
    assert found.round == tuple(r for r in range(samples_needed()) for _ in range(3))
    assert (found.low_s, found.high_s) == (pytest.approx(1e-3), pytest.approx(1e-3))


def test_noisy_cases_stop_at_their_budget(tmp_path):
    executor = FakeExecutor({"scatter": Act(seconds=0.3, noise=(1.0, 4.0, 0.3, 2.0))})
    found = timing(measure(executor, tmp_path)["scatter"])
    assert found.stopped == "budget"
    assert sum(found.samples_s[:-1]) <= SETTINGS.budget_s  # and one that is judged


def test_call_longer_than_the_budget_is_sampled_and_verified_once(tmp_path):
    found = timing(measure(FakeExecutor({"scatter": Act(seconds=10.0)}), tmp_path)["scatter"])
    assert found.samples_s == (10.0, 10.0)
    assert (found.stopped, found.low_s) == ("budget", None)


@pytest.mark.parametrize(
    ("seconds", "inner", "readings", "warm"),
    [(7e-6, 143, 3, True), (3e-4, 4, 3, True), (0.02, 1, 3, True), (0.03, 1, 1, True), (0.3, 1, 1, False)],
)
def test_sample_lasts_a_millisecond(tmp_path, seconds, inner, readings, warm):
    executor = FakeExecutor({"scatter": Act(seconds=seconds)})
    found = measure(executor, tmp_path, group(["scatter"]))["scatter"]
    asked = next(arguments for *_, verb, arguments in executor.asked if verb == "sample")
    assert asked == {"readings": readings, "inner": inner, "warm": warm}
    assert timing(found).inner == inner


def test_a_baseline_that_dies_late_does_not_decide_for_the_others(tmp_path):
    """Its many rounds are gone, and a ratio to them will never be narrow."""

    late = at(9, Ended("crashed", "killed by SIGSEGV"))
    restless = Act(seconds=1e-2, noise=(1.0, 3.0, 0.2, 5.0, 0.1), verbs={"sample": late})
    found = timing(measure(FakeExecutor({"broadcast": restless}), tmp_path)["scatter"])
    assert found.stopped == "interval"
    assert len(set(found.round)) < 12


def test_listener_is_paused_during_timing(tmp_path):
    heard = Heard()
    measure(FakeExecutor(), tmp_path, listener=heard)  # Heard objects to being drawn to meanwhile
    assert heard.events.count(("pause",)) == heard.events.count(("resume",)) > 0


def test_group_over_the_memory_limit_is_measured_separately(tmp_path):
    executor = FakeExecutor({name: Act(planned=600 * MIB) for name in THREE})
    found = measure(executor, tmp_path, group(THREE))
    samples = executor.turns()
    assert samples == sorted(samples, key=list(dict.fromkeys(samples)).index), "not one after the other"
    for record in found.values():
        assert record.status == "ok"
        assert timing(record).stopped == "interval"
        (warning,) = timing(record).warnings
        assert warning.startswith(
            "measured separately: the whole group plans 1.76 GiB, and the limit is 1000 MiB"
        )
    calls = [(who, verb) for who, _, verb, _ in executor.asked if who != "reference" and verb != "prepare"]
    for first, second in itertools.pairwise(THREE):
        waited = calls.index((second, "check")) > len(calls) - 1 - calls[::-1].index((first, "sample"))
        assert waited, "who waits to be measured alone holds no inputs yet"


def test_on_a_gpu_the_context_of_every_process_counts_and_so_does_the_size_of_the_gpu(tmp_path):
    executor = FakeExecutor({name: Act(planned=100 * MIB) for name in THREE})
    shared = context(executor, tmp_path)
    shared.device_memory = {"cpu": DeviceMemory(900 * MIB, 200 * MIB)}
    warning = "measured separately: the whole group plans 1.07 GiB, and the limit is 900 MiB"
    for record in measure(executor, tmp_path, group(THREE), shared=shared).values():
        assert timing(record).warnings == (warning,)
    executor = FakeExecutor({"scatter": Act(planned=950 * MIB)})
    shared = context(executor, tmp_path)
    shared.device_memory = {"cpu": DeviceMemory(900 * MIB)}
    assert measure(executor, tmp_path, group(["scatter"]), shared=shared)["scatter"].status == "oom"


@pytest.mark.parametrize("depth", ["run", "check"])
def test_case_near_the_memory_limit_runs_separately(tmp_path, depth):
    executor = FakeExecutor()
    beside = {}

    def look(name):
        def note(_):
            beside.setdefault(name, []).append({w.name for w in executor.living} - {name, "reference"})
            return {}

        return note

    near = {"scatter": 900 * MIB, "threshold": 900 * MIB}
    executor.acts = {
        name: Act(planned=near.get(name, MIB), verbs=dict.fromkeys(("check", "sample"), look(name)))
        for name in THREE
    }
    found = measure(executor, tmp_path, group(THREE), depth=depth)
    assert {record.status for record in found.values()} == {"ok"}
    for name in near:
        assert beside[name]
        assert not any(beside[name]), "another process of the group was alive"
    if depth == "run":
        warning = "measured separately: it plans 900 MiB, and the limit is 1000 MiB"
        assert [timing(found[name]).warnings for name in THREE] == [(), (warning,), (warning,)]


def test_one_set_of_inputs_stays_warm(tmp_path):
    executor = FakeExecutor({"scatter": Act(planned=900 * MIB, input_bytes=200 * MIB)})
    found = measure(executor, tmp_path)
    ready = {who: arguments["sets"] for who, _, verb, arguments in executor.asked if verb == "ready"}
    assert ready == {"broadcast": 2, "scatter": 1}
    assert (timing(found["scatter"]).cache, timing(found["broadcast"]).cache) == ("warm", "rotated")


@pytest.mark.parametrize(("depth", "sets"), [("run", 3), ("check", 1)])
def test_unsampled_input_sets_are_not_drawn(tmp_path, depth, sets):
    executor = FakeExecutor()
    measure(executor, tmp_path, depth=depth)
    drawn = [a["sets"] for *_, verb, a in executor.asked if verb in {"inputs", "reference"}]
    assert drawn == [sets, sets - 1]


def test_the_latency_of_calls_on_a_device_is_a_median_over_turns(tmp_path):
    latencies = itertools.cycle([3e-3, 2e-3, 4e-3])
    ready = {"method": "cupti", "cache": "flushed", "reason": "launches are included"}
    act = Act(verbs={"ready": ready, "sample": lambda _: {"latency_s": next(latencies)}})
    records = measure(FakeExecutor({"scatter": act}), tmp_path)
    measured, other = timing(records["scatter"]), timing(records["broadcast"])
    assert (measured.latency_low_s, measured.latency_s, measured.latency_high_s) == (2e-3, 3e-3, 4e-3)
    assert (measured.warnings, other.latency_s, other.warnings) == (("launches are included",), None, ())


def test_profiler_start_does_not_reduce_the_fewest_rounds(tmp_path):
    """A turn takes 1 s, including 3 ms of calls, of a budget of 4 s."""
    rounds_of = {}
    for method in ("cupti", "cuda_events"):
        executor = FakeExecutor()
        verbs = {
            "ready": {"method": method, "cache": "flushed"},
            "sample": lambda asked, executor=executor: {"seconds": 1.0},
        }
        executor.acts = {"scatter": Act(verbs=verbs, noise=(1.0, 2.0))}
        short = dataclasses.replace(SETTINGS, budget_s=0.25)
        record = measure(executor, tmp_path, group(["scatter"], settings=short))["scatter"]
        rounds_of[method] = len(set(timing(record).round))
    assert rounds_of == {"cupti": samples_needed(), "cuda_events": 1}


def test_graphs_are_requested_for_timed_replays(tmp_path):
    executor = FakeExecutor()
    folder = tmp_path / "scratch"
    folder.mkdir()
    shared = context(executor, folder)
    shared.extras = ProfileExtras(graphs=True)
    records = measure(executor, folder, shared=shared)
    assert {timing(record).method for record in records.values()} == {"cuda_graph"}


def test_a_replay_that_is_wrong_on_fresh_values_is_incorrect(tmp_path):
    executor = FakeExecutor(
        {"scatter": Act(verbs={"ready": {"method": "cuda_graph", "cache": "flushed"}})}, wrong=["scatter/2"]
    )
    record = measure(executor, tmp_path)["scatter"]
    assert (record.status, record.timing) == ("incorrect", None)
    assert (record.reason or "").startswith("its CUDA graph reuses values of the captured call")


def test_using_more_cores_than_threads_breaks_a_rule(tmp_path):
    found = measure(FakeExecutor({"scatter": Act(cores=2)}), tmp_path)
    assert (found["scatter"].status, found["scatter"].timing) == ("incorrect", None)
    assert found["scatter"].reason == (
        "it may use 2 cores, but --threads is 1; do not set CPU affinity, or raise --threads"
    )
    assert found["broadcast"].status == "ok"
    cases = tuple(dataclasses.replace(case, device="cuda") for case in group().cases)
    beside_a_gpu = dataclasses.replace(group(), cases=cases, baselines={})
    assert measure(FakeExecutor({"scatter": Act(cores=2)}), tmp_path, beside_a_gpu)["scatter"].status == "ok"
    two = dataclasses.replace(SETTINGS, threads=2)
    executor = FakeExecutor({"scatter": Act(cores=2)})
    assert measure(executor, tmp_path, group(settings=two))["scatter"].status == "ok"


class Disturbed:
    """Records the sampled cases at its creation, at each look, and at the request for warnings."""

    gpu_readings = ()

    def __init__(self, executor):
        self.executor = executor
        self.seen = []

    def __call__(self, device, now):
        assert (device, now) == ("cpu", self.executor.clock)
        return self

    def look(self):
        self.seen.append(len(self.executor.turns()))

    def warnings(self):
        self.asked_after = len(self.executor.turns())
        return ["the host took 12 % away"]

    def other_load(self):
        return 0.5


def test_interference_warns_for_every_case(tmp_path, monkeypatch):
    executor = FakeExecutor()
    disturbed = Disturbed(executor)
    monkeypatch.setattr(sampling, "Interference", disturbed)
    found = measure(executor, tmp_path, group(THREE))
    assert {timing(record).warnings for record in found.values()} == {("the host took 12 % away",)}
    assert disturbed.seen == list(range(0, 3 * samples_needed(), 3)), "not once, before each round"
    assert disturbed.asked_after == 3 * samples_needed()


def test_a_short_call_has_a_turn_in_the_round_of_a_long_ones_last(tmp_path):
    """A short case has samples in all rounds of a long baseline, because ratios are by round."""
    found = measure(FakeExecutor({"broadcast": Act(seconds=0.3)}), tmp_path)
    long, short = timing(found["broadcast"]), timing(found["scatter"])
    assert len(set(long.round)) > samples_needed()
    assert set(long.round) <= set(short.round)
