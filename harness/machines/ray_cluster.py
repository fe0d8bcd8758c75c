"""Nodes of a Ray cluster, with an actor on each; Ray only transports requests and replies.

Ray's resources are only counted, not isolated. So an actor takes all of a node's processors and
accelerators, so that Ray does not place another actor or task on the node.
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
POLL_SECONDS = 1.0  # between checks for Ctrl-C


class RayCluster:
    """The nodes of a pool. MachineError if Ray is missing, does not reply, or has no node of the pool."""

    def __init__(self, pool: MachinePool) -> None:
        try:
            self.ray = import_module("ray")
            strategies = import_module("ray.util.scheduling_strategies")
        except ImportError:
            raise MachineError("other machines need Ray: pip install 'seqsweep[ray]'") from None
        try:
            self.ray.init(pool.address, log_to_driver=False, logging_level="ERROR", configure_logging=True)
        except Exception as error:  # for any exception, the user can fix the address
            raise MachineError(
                f"machines {pool.name}: no Ray cluster replies at {pool.address} ({last_line(str(error))}); "
                "start one with ray start --head, or fix its address in bench.yaml"
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
        except BaseException:  # also Ctrl-C: end the started actors first
            self.close()
            raise

    def examine(self, plugins: Sequence[str]) -> dict[str, Any]:
        """The info of each node, or a SeqsweepError, by node."""
        pending = {node: actor.info.remote(tuple(plugins)) for node, actor in self.actors.items()}
        deadline = time.monotonic() + ASK_SECONDS
        return {node: self._get(answer, deadline) for node, answer in pending.items()}

    def measure(
        self, order: SweepOrder, shards: Mapping[str, int]
    ) -> Iterator[tuple[str, MeasuredShard | SeqsweepError]]:
        """Let each node measure its shard; yield the results, or errors, in the order of their arrival."""
        pending = {self.actors[node].measure.remote(order, index): node for node, index in shards.items()}
        while pending:
            ready, _ = self.ray.wait(list(pending), timeout=POLL_SECONDS)
            for answer in ready:
                yield pending.pop(answer), self._get(answer)

    def forget(self, node: str, run: str) -> None:
        """Let a node delete a run that was received here."""
        self._get(self.actors[node].forget.remote(run), time.monotonic() + ASK_SECONDS)

    def _get(self, answer: Any, deadline: float | None = None) -> Any:
        """The reply, or the node's error, or an error that describes the node's failure."""
        seconds = None if deadline is None else max(0.0, deadline - time.monotonic())
        try:
            return self.ray.get(answer, timeout=seconds)
        except self.ray.exceptions.GetTimeoutError:
            return MachineError(
                f"no reply within {ASK_SECONDS:.0f} s; other Ray jobs may be using its processors"
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
        """End the actors and their measurements, and disconnect from the cluster."""
        self.ray.shutdown()


def placements(
    nodes: Sequence[Mapping[str, Any]], pool: MachinePool
) -> list[tuple[str, str, dict[str, Any]]]:
    """(name, Ray's id, resources of an actor) of each node of a pool, from the output of `ray.nodes()`.

    MachineError if no node has the pool's labels.
    """
    alive = [node for node in nodes if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]
    chosen = [node for node in alive if pool.labels.items() <= node.get("Labels", {}).items()]
    if not chosen:
        wanted = ", ".join(f"{name}={value}" for name, value in pool.labels.items()) or "processors"
        raise MachineError(f"machines {pool.name}: none of {len(alive)} nodes has {wanted}; see ray status")
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
