"""Nodes of a Ray cluster, with an actor on each; Ray only carries questions and answers.

Ray's resources are numbers in its books and isolate nothing, so an actor takes all of a node's processors
and accelerators: no second one of ours, and nothing else of Ray's, is placed beside it.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from harness.core.errors import MachineError, SeqsweepError
from harness.machines.node import MeasuredShard, MeasuringNode, SweepOrder
from harness.run.processes.output_log import last_line
from harness.sweep.config import MachinePool

ASK_SECONDS = 180.0
POLL_SECONDS = 1.0  # after which Ctrl-C is looked for


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
        try:
            for name, node_id, resources in placements(self.ray.nodes(), pool):
                options = self.ray.remote(MeasuringNode).options(
                    **resources,
                    max_restarts=0,
                    scheduling_strategy=strategies.NodeAffinitySchedulingStrategy(node_id, soft=False),
                )
                self.actors[name] = options.remote()
        except BaseException:  # also Ctrl-C: actors that have started are ended first
            self.close()
            raise

    def examine(self, plugins: Sequence[str]) -> dict[str, Any]:
        """The info of each node, or a SeqsweepError, by node."""
        coming = {node: actor.info.remote(tuple(plugins)) for node, actor in self.actors.items()}
        deadline = time.monotonic() + ASK_SECONDS
        return {node: self._get(answer, deadline) for node, answer in coming.items()}

    def measure(
        self, order: SweepOrder, shards: Mapping[str, int]
    ) -> Iterator[tuple[str, MeasuredShard | SeqsweepError]]:
        """Let each node measure its shard; what it sends, or what became of it, in the order they come."""
        coming = {self.actors[node].measure.remote(order, index): node for node, index in shards.items()}
        while coming:
            ready, _ = self.ray.wait(list(coming), timeout=POLL_SECONDS)
            for answer in ready:
                yield coming.pop(answer), self._get(answer)

    def forget(self, node: str, run: str) -> None:
        """Let a node delete a run that has arrived here."""
        self._get(self.actors[node].forget.remote(run), time.monotonic() + ASK_SECONDS)

    def _get(self, answer: Any, deadline: float | None = None) -> Any:
        """An answer, or the error that the node raised, or one that says what became of the node."""
        seconds = None if deadline is None else max(0.0, deadline - time.monotonic())
        try:
            return self.ray.get(answer, timeout=seconds)
        except self.ray.exceptions.GetTimeoutError:
            return MachineError(
                f"no answer within {ASK_SECONDS:.0f} s; other work of Ray may hold its processors"
            )
        except self.ray.exceptions.RayError as error:
            cause = getattr(error, "cause", None)
            if isinstance(cause, SeqsweepError):
                return cause
            missing = "No module named 'harness'" in str(error)
            return MachineError(
                "seqsweep is not installed there" if missing else last_line(str(cause or error))
            )

    def close(self) -> None:
        """End the actors, and with them what they measure, and leave the cluster."""
        self.ray.shutdown()


def placements(
    nodes: Sequence[Mapping[str, Any]], pool: MachinePool
) -> list[tuple[str, str, dict[str, Any]]]:
    """(name, Ray's id, what an actor takes of it) of each node of a pool, as `ray.nodes()` lists nodes.

    MachineError where none carries the pool's labels.
    """
    alive = [node for node in nodes if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]
    chosen = [node for node in alive if pool.labels.items() <= node.get("Labels", {}).items()]
    if not chosen:
        wanted = ", ".join(f"{name}={value}" for name, value in pool.labels.items()) or "processors"
        raise MachineError(f"machines {pool.name}: no node of {len(alive)} has {wanted}; see ray status")
    hosts = [node["NodeManagerHostname"] for node in chosen]
    found: list[tuple[str, str, dict[str, Any]]] = []
    for node, host in zip(chosen, hosts, strict=True):
        resources: Mapping[str, float] = node["Resources"]
        taken: dict[str, Any] = {"num_cpus": int(resources["CPU"])}
        if resources.get("GPU", 0) >= 1:
            taken["num_gpus"] = int(resources["GPU"])
        elif resources.get("TPU", 0) >= 1:
            taken["resources"] = {"TPU": int(resources["TPU"])}
        name = host if hosts.count(host) == 1 else f"{host}-{node['NodeID'][:6]}"
        found.append((name, node["NodeID"], taken))
    return found
