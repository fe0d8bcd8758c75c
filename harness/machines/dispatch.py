"""Dispatch of units to nodes: every unit once, and again only on another node of the same kind."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from harness.machines.measured_unit import MeasuredUnit
from harness.machines.ray_cluster import RayCluster

ATTEMPTS = 3  # of a unit; one that takes node after node with it must not end the sweep


@dataclass
class _Task:
    """A unit that is not done, with the nodes that have had it and what went wrong on the last."""

    unit: int
    why: str
    nodes: set[str] = field(default_factory=set[str])


class Dispatch:
    """Units for nodes. `kinds` is each node's kind, `kept` the units that lie finished on its disk."""

    def __init__(
        self, kinds: Mapping[str, str], units: Iterable[int], kept: Mapping[str, Iterable[int]]
    ) -> None:
        todo = dict.fromkeys(units)
        self.kinds = dict(kinds)
        self.own: dict[str, deque[int]] = {}
        for node, theirs in kept.items():
            self.own[node] = deque(unit for unit in theirs if unit in todo)
            for unit in self.own[node]:
                del todo[unit]
        self.fresh = deque(todo)
        self.again: defaultdict[str, deque[_Task]] = defaultdict(deque)  # by kind
        self.running: dict[str, _Task] = {}  # by node
        self.open: dict[int, str] = {}

    def run(
        self,
        cluster: RayCluster,
        keep: Callable[[str, MeasuredUnit], None],
        tell: Callable[[str], None],
        begin: Callable[[str, int], None],
    ) -> dict[int, str]:
        """Hand out all units, and `keep` what comes; the units that stay open, each with the reason.

        `begin` is called with each node and its unit, `tell` with a sentence on whatever goes wrong.
        """
        idle = list(self.kinds)
        while True:
            waiting: list[str] = []
            for node in idle:
                task = self._task_for(node)
                if task is None:
                    waiting.append(node)
                    continue
                self.running[node] = task
                begin(node, task.unit)
                cluster.submit(task.unit, node)
            if not self.running:
                return self._leave_open()
            idle = waiting
            for answer in cluster.poll():
                task = self.running.pop(answer.node)
                task.nodes.add(answer.node)
                kind = self.kinds[answer.node]
                if answer.measured is None:
                    self.fresh.extend(self.own.pop(answer.node, ()))
                    del self.kinds[answer.node]
                    task.why = f"{answer.node} was lost ({answer.why})"
                else:
                    idle.append(answer.node)
                    keep(answer.node, answer.measured)
                    if answer.measured.doubt is None:
                        continue
                    task.why = f"{answer.node}: {answer.measured.doubt}"
                tell(f"{task.why}; {self._retry(task, kind)}")

    def _task_for(self, node: str) -> _Task | None:
        retries = self.again[self.kinds[node]]
        for task in retries:
            if node not in task.nodes:
                retries.remove(task)
                return task
        queue = self.own.get(node) or self.fresh
        return _Task(queue.popleft(), "") if queue else None

    def _retry(self, task: _Task, kind: str) -> str:
        """Queue the task for a node of this kind that has not had it, or leave it open; in words, which."""
        others = [node for node, theirs in self.kinds.items() if theirs == kind and node not in task.nodes]
        if others and len(task.nodes) < ATTEMPTS:
            self.again[kind].append(task)
            return "its group goes to another machine of its kind"
        self.open[task.unit] = task.why
        return "its group stays open, for no other machine of its kind is left"

    def _leave_open(self) -> dict[int, str]:
        """The open units, with the queued ones: all nodes are idle or lost, so none will take them."""
        for tasks in self.again.values():
            self.open |= {task.unit: task.why for task in tasks}
        self.open |= dict.fromkeys(self.fresh, "no machine was left to measure it")
        return dict(sorted(self.open.items()))
