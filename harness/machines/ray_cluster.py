"""Nodes of a Ray cluster: an actor on each, or on each accelerator; Ray only carries questions and answers.

Ray's resources are numbers in its books and isolate nothing, so an actor takes all of a node's processors:
no second one of ours, and nothing else of Ray's, is placed beside it.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from harness.core.errors import MachineError, SeqsweepError
from harness.machines.node import MeasuredShard, MeasuringNode, SweepOrder
from harness.run.processes.output_log import last_line
from harness.sweep.config import MachinePool

ASK_SECONDS = 180.0
POLL_SECONDS = 1.0  # after which Ctrl-C is looked for
CHIPS = ("GPU", "TPU")


@dataclass(frozen=True)
class NodeAnswer:
    """A node's answer for a shard. Without `measured` the shard is missing, and `why` says how."""

    node: str
    index: int
    measured: MeasuredShard | None
    why: str = ""


class RayCluster:
    """The nodes of a pool. MachineError where Ray is missing, does not answer, or has no such node."""

    def __init__(self, pool: MachinePool) -> None:
        try:
            self.ray = import_module("ray")
            strategies = import_module("ray.util.scheduling_strategies")
        except ImportError:
            raise MachineError("other machines need Ray: pip install 'seqsweep[ray]'") from None
        try:
            self.ray.init(pool.address, log_to_driver=False, logging_level="ERROR", configure_logging=True)
        except Exception as error:  # whatever it raises, the address is what the user can mend
            raise MachineError(
                f"machines {pool.name}: no Ray cluster answers at {pool.address} ({last_line(str(error))}); "
                "start one with ray start --head, or mend its address in bench.yaml"
            ) from None
        self.actors: dict[str, Any] = {}
        self.running: dict[Any, tuple[str, int]] = {}  # answer to come → node and shard
        try:
            for name, node_id, resources, apart in seats(self.ray.nodes(), pool):
                options = self.ray.remote(MeasuringNode).options(
                    **resources,
                    max_restarts=0,
                    scheduling_strategy=strategies.NodeAffinitySchedulingStrategy(node_id, soft=False),
                )
                self.actors[name] = options.remote(name, apart=apart)
        except BaseException:  # also Ctrl-C: actors that have started are ended first
            self.close()
            raise

    def ask(self, method: str, *arguments: Any) -> dict[str, Any]:
        """Call a method on all nodes at once: its answer, or a SeqsweepError, by node."""
        coming = {node: getattr(actor, method).remote(*arguments) for node, actor in self.actors.items()}
        deadline = time.monotonic() + ASK_SECONDS
        answers: dict[str, Any] = {}
        for node, answer in coming.items():
            try:
                answers[node] = self.ray.get(answer, timeout=max(0.0, deadline - time.monotonic()))
            except self.ray.exceptions.GetTimeoutError:
                answers[node] = MachineError(
                    f"no answer within {ASK_SECONDS:.0f} s; other work of Ray may hold its processors"
                )
            except self.ray.exceptions.RayError as error:
                answers[node] = _cause(error)
        return answers

    def submit(self, order: SweepOrder, index: int, node: str) -> None:
        """Let a node measure a shard, after those that it has."""
        self.running[self.actors[node].measure.remote(order, index)] = node, index

    def poll(self) -> list[NodeAnswer]:
        """Wait until a node has an answer, or is lost; empty where none has a shard."""
        ready: list[Any] = []
        while self.running and not ready:
            ready, _ = self.ray.wait(list(self.running), timeout=POLL_SECONDS)
        return [self._answer(answer, *self.running.pop(answer)) for answer in ready]

    def _answer(self, answer: Any, node: str, index: int) -> NodeAnswer:
        try:
            return NodeAnswer(node, index, self.ray.get(answer))
        except self.ray.exceptions.RayError as error:
            return NodeAnswer(node, index, None, str(_cause(error)))

    def close(self) -> None:
        """End the actors, and with them what they measure, and leave the cluster."""
        self.ray.shutdown()


def seats(
    nodes: Sequence[Mapping[str, Any]], pool: MachinePool
) -> list[tuple[str, str, dict[str, Any], bool]]:
    """(name, Ray's id of the node, what of it an actor takes, whether others sit beside it) of each seat.

    `nodes` are as `ray.nodes()` lists them. MachineError where none carries the pool's labels.
    """
    alive = [node for node in nodes if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]
    chosen = [node for node in alive if pool.labels.items() <= node.get("Labels", {}).items()]
    if not chosen:
        there = sorted({f"{name}={value}" for node in alive for name, value in node["Labels"].items()})
        wanted = ", ".join(f"{name}={value}" for name, value in pool.labels.items()) or "processors"
        raise MachineError(
            f"machines {pool.name}: no node of {len(alive)} has {wanted}; there are "
            f"{', '.join(label for label in there if 'node-id' not in label) or 'no labels'}"
        )
    hosts = [node["NodeManagerHostname"] for node in chosen]
    found: list[tuple[str, str, dict[str, Any], bool]] = []
    for node, host in zip(chosen, hosts, strict=True):
        name = host if hosts.count(host) == 1 else f"{host}-{node['NodeID'][:6]}"
        resources: Mapping[str, float] = node["Resources"]
        chip = next((kind for kind in CHIPS if resources.get(kind, 0) >= 1), None)
        parts = int(resources[chip]) if chip and not pool.exclusive else 1
        taken: dict[str, Any] = {"num_cpus": int(resources["CPU"]) // parts or resources["CPU"] / parts}
        if chip == "GPU":
            taken["num_gpus"] = int(resources[chip]) // parts
        elif chip:
            taken["resources"] = {chip: int(resources[chip]) // parts}
        names = [f"{name}/{part}" for part in range(parts)] if parts > 1 else [name]
        found += [(seat, node["NodeID"], taken, parts > 1) for seat in names]
    return found


def _cause(error: Exception) -> SeqsweepError:
    """The error that a node raised, or one that says what became of the node."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, SeqsweepError):
        return cause
    missing = "No module named 'harness'" in str(error)
    return MachineError("seqsweep is not installed there" if missing else last_line(str(cause or error)))
