"""A sweep on the nodes of a cluster: each node measures a shard, and the runs are joined here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.collection.collection import collect, write_run
from harness.collection.joined_run import JoinedRun
from harness.core.errors import MachineError, SeqsweepError
from harness.core.stop_signals import terminable
from harness.machines.node import MeasuredShard, NodeInfo, SweepOrder
from harness.machines.ray_cluster import RayCluster
from harness.sweep.schedule import Schedule, group_keys

Log = Callable[[str], None]


@dataclass(frozen=True)
class SweepOutcome:
    """The outcome of a sweep: its `joined` runs, and the reasons for `missing` shards by number."""

    joined: tuple[JoinedRun, ...]
    missing: Mapping[int, str]
    shards: int
    interrupted: bool


def admit(cluster: RayCluster, plugins: Sequence[str]) -> dict[str, NodeInfo | SeqsweepError]:
    """Each node's info, or why it may not measure for this driver."""
    answers: dict[str, NodeInfo | SeqsweepError] = dict(cluster.examine(plugins))
    for node, answer in answers.items():
        if isinstance(answer, NodeInfo) and (why := answer.refusal()):
            answers[node] = MachineError(why)
    return answers


def measure_on(
    cluster: RayCluster, order: SweepOrder, schedule: Schedule, results: Path, log: Log
) -> SweepOutcome:
    """Measure a shard on each admitted node, to the end or to Ctrl-C, and join them in `results`.

    Each shard is joined when it arrives, so that it is kept if another one fails. MachineError if no node is
    admitted.
    """
    answers = admit(cluster, (*order.config.plugins, *order.plugins))
    for node, answer in answers.items():
        log(f"{node}: {answer.description if isinstance(answer, NodeInfo) else f'refused: {answer}'}")
    nodes = sorted(node for node, answer in answers.items() if isinstance(answer, NodeInfo))
    if not nodes:
        raise MachineError("no machine can measure this sweep; fix the problems listed above")
    count = min(len(nodes), len(group_keys(schedule)))
    shards = {node: index for index, node in enumerate(nodes[:count], start=1)}
    missing = dict.fromkeys(shards.values(), "it was interrupted")
    arrived: set[str] = set()
    interrupted = False
    with terminable():
        try:
            for node, measured in cluster.measure(replace(order, shards=count), shards):
                index = shards[node]
                if isinstance(measured, SeqsweepError):
                    missing[index] = f"{node}: {measured}"
                elif problems := _join(measured, results):
                    missing[index] = problems[0]
                else:
                    del missing[index]
                    arrived.add(measured.run)
                    cluster.forget(node, measured.run)
                    statuses = ", ".join(f"{times} {status}" for status, times in measured.counts.items())
                    log(f"{node}: shard {index}/{count}: {statuses or 'no cases'}")
        except KeyboardInterrupt:
            interrupted = True
    joined = (run for run in collect([], results).joined if any(p.run in arrived for p in run.pieces))
    return SweepOutcome(tuple(joined), missing, count, interrupted)


def _join(measured: MeasuredShard, results: Path) -> tuple[str, ...]:
    """Join a shard's run with the runs here; return sentences if that was not possible."""
    with TemporaryDirectory() as folder:
        write_run(Path(folder) / "runs" / measured.run, measured.files)
        return collect([Path(folder)], results).problems
