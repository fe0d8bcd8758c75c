"""A sweep on the nodes of a cluster: a shard for each, and the runs that come back joined here."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.catalog.catalog import Catalog
from harness.collection.collection import collect, write_run
from harness.collection.joined_run import JoinedRun
from harness.core.errors import MachineError, SeqsweepError
from harness.core.stop_signals import terminable
from harness.core.version import VERSION
from harness.machines.node import MeasuredShard, NodeInfo, SweepOrder, installed_code
from harness.machines.ray_cluster import RayCluster
from harness.store.find import all_runs
from harness.sweep.schedule import Schedule, group_keys

Tell = Callable[[str], None]


@dataclass(frozen=True)
class SweepOutcome:
    """The outcome of a sweep: its `joined` runs, and the `missing` ones of its `shards` with the reasons."""

    joined: tuple[JoinedRun, ...]
    missing: Mapping[int, str]
    shards: int
    interrupted: bool


def admit(
    cluster: RayCluster, plugins: Sequence[str], catalog: Catalog, implementations: Collection[str]
) -> dict[str, NodeInfo | SeqsweepError]:
    """Each node's info, or why it may not measure these implementations for this driver."""
    answers: dict[str, NodeInfo | SeqsweepError] = dict(cluster.ask("info", tuple(plugins)))
    ours = installed_code(catalog)
    for node, answer in answers.items():
        if isinstance(answer, NodeInfo) and (why := answer.refusal(ours, implementations)):
            answers[node] = MachineError(why)
    return answers


def measure_on(
    cluster: RayCluster, order: SweepOrder, schedule: Schedule, catalog: Catalog, results: Path, tell: Tell
) -> SweepOutcome:
    """Measure a shard on each node that may, to the end or to Ctrl-C, and join them in `results`.

    Each shard is joined when it comes, so that no other one's loss costs it. With `order.resume` only the
    shards that are absent here are measured. MachineError where no node may measure.
    """
    nodes = _admitted_nodes(cluster, order, schedule, catalog, tell)
    here = _joined_shards(results, order) if order.resume else {}
    if order.resume and not here:
        tell("no shard of this sweep has arrived here yet; each machine continues what it has begun")
    shards = next(iter(here.values()))[1] if here else min(len(nodes), len(group_keys(schedule)))
    order = replace(order, shards=shards)
    times = Counter(index for index, _ in here.values())
    todo = [index for index in range(1, shards + 1) if times[index] < max(times.values(), default=1)]
    missing, arrived = dict.fromkeys(todo, "it was stopped"), {*here}
    interrupted = False
    with terminable():
        try:
            for index, node in _places(todo, nodes).items():
                tell(f"{node} begins shard {index}/{shards}")
                cluster.submit(order, index, node)
            while answers := cluster.poll():
                for answer in answers:
                    shard = f"{answer.node}: shard {answer.index}/{shards}"
                    if answer.measured is None:
                        missing[answer.index] = f"{answer.node}: {answer.why}"
                        tell(f"{shard} is missing: {answer.why}")
                    elif problems := _join(answer.measured, results):
                        missing[answer.index] = problems[0]
                    else:
                        del missing[answer.index]
                        arrived.add(answer.measured.run)
                        for message in answer.measured.messages:
                            tell(f"{answer.node}: {message}")
                        became = (f"{count} {status}" for status, count in answer.measured.counts.items())
                        tell(f"{shard}: {', '.join(became) or 'no case'}")
            cluster.ask("forget", arrived)
        except KeyboardInterrupt:
            interrupted = True
    joined = (run for run in collect([], results).joined if any(p.run in arrived for p in run.pieces))
    return SweepOutcome(tuple(joined), missing, shards, interrupted)


def _admitted_nodes(
    cluster: RayCluster, order: SweepOrder, schedule: Schedule, catalog: Catalog, tell: Tell
) -> list[str]:
    """The nodes that may measure a sweep, with a line on each node. MachineError where there is none."""
    plugins = (*order.config.plugins, *order.plugins)
    answers = admit(cluster, plugins, catalog, sorted(schedule.implementations))
    for node, answer in answers.items():
        tell(f"{node}: {answer.description if isinstance(answer, NodeInfo) else f'refused: {answer}'}")
    admitted = sorted(node for node, answer in answers.items() if isinstance(answer, NodeInfo))
    if not admitted:
        raise MachineError("no machine may measure this sweep; the reasons stand above")
    return admitted


def _joined_shards(results: Path, order: SweepOrder) -> dict[str, tuple[int, int]]:
    """(index, count) of each shard of the sweep that was joined here, by its run; of the newest division."""
    wanted = (order.sweep, order.depth, order.targets, VERSION)
    found: dict[str, tuple[int, int]] = {}
    for folder in all_runs(results):
        for run, info in (folder.readable_info([]).get("shards") or {}).items():
            shard = info.get("shard") or {}
            described = (shard.get("sweep"), info["depth"], tuple(info.get("targets") or ()), info["version"])
            if described == wanted:
                found[run] = shard["index"], shard["count"]
    newest = found[max(found)][1] if found else 0
    return {run: shard for run, shard in found.items() if shard[1] == newest}


def _places(todo: Sequence[int], nodes: Sequence[str]) -> dict[int, str]:
    """A node for each shard: the one that has the fewest, or had this shard when all nodes were there."""
    places: dict[int, str] = {}
    for index in todo:
        taken, before = Counter(places.values()), nodes[(index - 1) % len(nodes)]
        places[index] = min(nodes, key=lambda node: (taken[node], node != before))
    return places


def _join(measured: MeasuredShard, results: Path) -> tuple[str, ...]:
    """Join a shard's run with those here; sentences on why that was not possible."""
    with TemporaryDirectory() as folder:
        write_run(Path(folder) / "runs" / measured.run, measured.files)
        return collect([Path(folder)], results).problems
