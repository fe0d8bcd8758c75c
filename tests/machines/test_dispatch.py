"""Units for nodes: each once, again on another of the same kind alone, and open where there is none."""

import random
import time
import tracemalloc
from collections import Counter, deque

import pytest

from harness.machines.dispatch import ATTEMPTS, Dispatch
from harness.machines.measured_unit import MeasuredUnit, NodeAnswer

SENT = 64 << 10  # bytes of a unit


class FakeCluster:
    """Answers at once, in an order by chance. `fate` (unit, node, attempt) → None, a doubt, or "lost"."""

    def __init__(self, fate=lambda unit, node, attempt: None, seed=0):
        self.fate, self.chance = fate, random.Random(seed)
        self.running, self.attempts, self.submitted = [], Counter(), []
        self.lost = set()

    def submit(self, unit, node):
        assert node not in self.lost
        assert node not in {name for _, name in self.running}
        self.running.append((unit, node))
        self.submitted.append((unit, node))

    def poll(self):
        place = self.chance.randrange(len(self.running))
        self.running[place], self.running[-1] = self.running[-1], self.running[place]
        unit, node = self.running.pop()
        self.attempts[unit] += 1
        fate = self.fate(unit, node, self.attempts[unit])
        if fate == "lost":
            self.lost.add(node)
            return [NodeAnswer(node, None, "it is gone")]
        return [NodeAnswer(node, MeasuredUnit(unit, "run", {"records": bytes(SENT)}, "", fate))]


def hand_out(cluster, kinds, units, kept=None):
    """(units that are kept and not doubtful, in their order; the open ones; what was said)."""
    arrived, said = [], []

    def keep(node, measured):
        if measured.doubt is None:
            arrived.append(measured.unit)

    left = Dispatch(kinds, units, kept or {}).run(cluster, keep, said.append, lambda *_: None)
    return arrived, left, said


def test_every_unit_once_over_a_thousand_nodes_of_which_many_fail():
    kinds = {f"node{number}": f"kind{number % 4}" for number in range(1000)}
    failing = set(random.Random(1).sample(range(1, 10_001), 500))
    cluster = FakeCluster(lambda unit, _, attempt: "lost" if unit in failing and attempt == 1 else None)
    cluster.submitted = deque(maxlen=1)  # memory is that of what is handed out, not of this list
    dispatch = Dispatch(kinds, range(1, 10_001), {})
    arrived = Counter()
    tracemalloc.start()
    before = time.process_time()
    left = dispatch.run(
        cluster, lambda _, measured: arrived.update([measured.unit]), lambda _: None, lambda *_: None
    )
    seconds = time.process_time() - before
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"{seconds / 10_000 * 1e6:.0f} µs a unit, at most {most / 2**20:.1f} MiB")
    assert left == {}
    assert set(arrived) == set(range(1, 10_001))
    assert set(arrived.values()) == {1}
    assert len(cluster.lost) == 500
    assert not dispatch.running
    assert most < 100 * SENT  # not what ten thousand units sent, but the few that are on their way


def test_a_lost_nodes_unit_goes_to_its_own_kind_alone():
    kinds = {"a1": "a", "a2": "a", "b1": "b"}
    cluster = FakeCluster(lambda unit, node, _: "lost" if node == "a1" else None)
    arrived, left, said = hand_out(cluster, kinds, range(1, 20))
    assert (sorted(arrived), left) == (list(range(1, 20)), {})
    (unit,) = [unit for unit, node in cluster.submitted if node == "a1"]
    assert [node for theirs, node in cluster.submitted if theirs == unit] == ["a1", "a2"]
    assert said == ["a1 was lost (it is gone); its group goes to another machine of its kind"]


def test_without_another_of_its_kind_it_stays_open_and_the_others_go_on():
    cluster = FakeCluster(lambda unit, node, _: "lost" if node == "a1" else None)
    arrived, left, said = hand_out(cluster, {"a1": "a", "b1": "b"}, range(1, 6))
    assert len(arrived) == 4
    assert list(left.values()) == ["a1 was lost (it is gone)"]
    assert set(left) == set(range(1, 6)) - set(arrived)
    assert "stays open" in said[0]


def test_a_doubtful_unit_is_measured_elsewhere_and_not_again_there():
    cluster = FakeCluster(lambda unit, node, _: "it moved" if (unit, node) == (1, "a1") else None)
    arrived, left, _ = hand_out(cluster, {"a1": "a", "a2": "a"}, [1])
    assert (arrived, left) == ([1], {})
    assert cluster.submitted == [(1, "a1"), (1, "a2")]


def test_a_doubtful_unit_of_a_single_node_stays_open():
    arrived, left, _ = hand_out(FakeCluster(lambda *_: "it moved"), {"a1": "a"}, [1, 2])
    assert (arrived, left) == ([], {1: "a1: it moved", 2: "a1: it moved"})


def test_a_unit_that_takes_nodes_with_it_does_not_take_them_all():
    kinds = {f"a{number}": "a" for number in range(9)}
    cluster = FakeCluster(lambda unit, *_: "lost" if unit == 7 else None)
    arrived, left, _ = hand_out(cluster, kinds, range(1, 50))
    assert list(left) == [7]
    assert len(cluster.lost) == ATTEMPTS
    assert len(arrived) == 48


def test_all_nodes_lost_leaves_the_rest_open():
    arrived, left, _ = hand_out(FakeCluster(lambda *_: "lost"), {"a1": "a", "a2": "a"}, range(1, 8))
    assert (arrived, sorted(left)) == ([], list(range(1, 8)))
    assert "no machine was left to measure it" in left.values()


@pytest.mark.parametrize("lost", [False, True])
def test_what_lies_finished_on_a_node_comes_from_there(lost):
    fate = (lambda unit, node, _: "lost" if node == "a2" else None) if lost else (lambda *_: None)
    cluster = FakeCluster(fate)
    arrived, left, _ = hand_out(cluster, {"a1": "a", "a2": "a"}, [1, 2, 3, 4], {"a2": [3, 4, 9]})
    assert (sorted(arrived), left) == ([1, 2, 3, 4], {})
    if not lost:
        assert {unit for unit, node in cluster.submitted if node == "a2"} >= {3, 4}
