"""Replays beside eager calls, in a scripted world: what is kept of them, and what costs a case nothing."""

from pathlib import Path

import pytest

from harness.core.errors import Unsupported
from harness.core.median_interval import samples_needed
from harness.core.record import GraphReplays, Record
from harness.run.group.extra_rounds import MOST_ROUNDS
from harness.run.group.run_context import ProfileExtras
from harness.run.processes.executor import Ended
from tests.run.fakes import Act, FakeExecutor
from tests.run.plans import context, group, measure, timing, verdict


def replayed(
    tmp_path: Path, executor: FakeExecutor, *, mode: str = "fwd", depth: str = "run", graphs: bool = True
) -> Record:
    folder = tmp_path / "scratch"
    folder.mkdir()
    shared = context(executor, folder, depth=depth)
    shared.extras = ProfileExtras(graphs=graphs)
    return measure(executor, folder, group(["scatter"], mode=mode), shared=shared)["scatter"]


def graphs_of(record: Record) -> GraphReplays:
    assert record.graphs
    return record.graphs


@pytest.mark.parametrize("depth", ["run", "profile"])
def test_both_ways_are_read_in_the_same_rounds(tmp_path: Path, depth: str) -> None:
    record = replayed(tmp_path, FakeExecutor({"scatter": Act(seconds=3e-3, noise=(1.0, 1.1))}), depth=depth)
    graphs = graphs_of(record)
    assert samples_needed() <= len(graphs.replay_s) <= MOST_ROUNDS
    assert [3 * replay for replay in graphs.replay_s] == pytest.approx(list(graphs.eager_s))
    assert (graphs.method, graphs.cache, timing(record).method) == ("graph_events", "flushed", "wall")


def test_nothing_is_captured_unless_asked_for(tmp_path: Path) -> None:
    executor = FakeExecutor()
    assert replayed(tmp_path, executor, graphs=False).graphs is None
    assert not {"capture", "replay"} & set(executor.verbs("scatter"))


def test_a_call_is_captured_when_its_samples_are_taken_and_judged_before_it_is_timed(tmp_path: Path) -> None:
    executor = FakeExecutor()
    replayed(tmp_path, executor)
    verbs = executor.verbs("scatter")
    assert "sample" not in verbs[verbs.index("capture") :]
    replays = [arguments for who, _, verb, arguments in executor.asked if verb == "replay"]
    assert replays[0]["fresh"]["inputs"] == "fresh-replay"
    assert all("fresh" not in arguments for arguments in replays[1:])
    assert executor.judged("scatter/3") == 1


def test_a_backward_gets_its_cotangent_into_the_graph(tmp_path: Path) -> None:
    executor = FakeExecutor()
    replayed(tmp_path, executor, mode="fwd_bwd")
    asked = {verb: arguments for _, _, verb, arguments in reversed(executor.asked)}
    assert asked["capture"] == {"cotangent": "cotangent0"}
    assert asked["replay"]["fresh"]["cotangent"] == "fresh-replay-exact"


def test_a_wrong_replay_leaves_the_eager_figures_and_says_so(tmp_path: Path) -> None:
    record = replayed(tmp_path, FakeExecutor(wrong=["scatter/3"]))
    assert (record.status, record.graphs, verdict(record).passed) == ("ok", None, True)
    assert timing(record).warnings[-1] == (
        "no CUDA graph: a replay on inputs that no call had seen is wrong (3 elements differ)"
    )


ENDS = {
    "refused": (Unsupported("it cannot be captured"), "it cannot be captured"),
    "raises": (Ended("crashed", "RuntimeError: CUDA error", alive=True), "RuntimeError: CUDA error"),
    "dies": (Ended("crashed", "killed by SIGSEGV"), "killed by SIGSEGV"),
    "runs out of memory": (Ended("oom", "the pool does not fit", alive=True), "the pool does not fit"),
    "hangs": (Ended("timeout", "no answer within 60 s"), "no answer within 60 s"),
}


@pytest.mark.parametrize("verb", ["capture", "replay"])
@pytest.mark.parametrize("how", ENDS)
def test_whatever_becomes_of_a_graph_the_eager_figures_stand(tmp_path: Path, verb: str, how: str) -> None:
    end, why = ENDS[how]
    record = replayed(tmp_path, FakeExecutor({"scatter": Act(verbs={verb: end})}))
    assert (record.status, record.reason, record.graphs) == ("ok", None, None)
    assert timing(record).warnings == (f"no CUDA graph: {why}",)


def test_a_process_that_dies_in_its_rounds_has_no_replays(tmp_path: Path) -> None:
    ends = iter([{}, {}, {}, Ended("crashed", "killed by SIGSEGV")])
    record = replayed(tmp_path, FakeExecutor({"scatter": Act(verbs={"replay": lambda _: next(ends)})}))
    assert (record.status, record.graphs) == ("ok", None)
    assert timing(record).samples_s


def test_readings_that_are_no_time_are_no_replays(tmp_path: Path) -> None:
    record = replayed(tmp_path, FakeExecutor({"scatter": Act(verbs={"replay": {"replay_s": 0.0}})}))
    assert (record.status, record.graphs) == ("ok", None)
    assert "`float` > 0.0 - at `$.replay_s`" in timing(record).warnings[0]
