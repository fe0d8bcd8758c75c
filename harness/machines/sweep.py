"""A sweep on the nodes of a cluster: admitting them, dispatching units, and joining their runs."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from harness.catalog.catalog import Catalog
from harness.collection.collection import collect
from harness.collection.joined_run import JoinedRun
from harness.core.errors import MachineError, SeqsweepError
from harness.core.stop_signals import terminable
from harness.core.units import format_seconds
from harness.machines.dispatch import Dispatch
from harness.machines.inbox import Inbox
from harness.machines.measured_unit import MeasuredUnit
from harness.machines.node import SweepOrder
from harness.machines.node_info import NodeInfo, installed_code
from harness.machines.ray_cluster import RayCluster
from harness.run.compile.static_run import compile_cache_files
from harness.store.compile_cache import CompileCache
from harness.sweep.schedule import Schedule, group_keys

Tell = Callable[[str], None]
Answer = TypeVar("Answer")
PROGRAMS_PER_CORE = 4  # in a unit of programs to compile


@dataclass(frozen=True)
class SweepOutcome:
    """The outcome of a sweep: the `joined` runs, and the `open`, unmeasured groups with the reasons."""

    joined: tuple[JoinedRun, ...]
    open: Mapping[str, str]
    problems: tuple[str, ...]
    interrupted: bool
    inbox: Path


def describe_node(info: NodeInfo) -> str:
    """`AMD EPYC, 2 cores, fingerprint 1a2b3c4, noise probe 484 µs a turn [480 µs, 490 µs], 3% …`."""
    facts, noise = info.facts, info.noise
    what = ", ".join(filter(None, [facts["cpu"], f"{facts['cores']} cores", info.accelerator]))
    median, low, high = map(format_seconds, noise.interval_s)
    probe = f"{median} a turn [{low}, {high}], {noise.taken:.0%} of its slowest core's time was others'"
    return f"{what}, fingerprint {info.digest}, noise probe {probe}"


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
    cluster: RayCluster,
    order: SweepOrder,
    schedule: Schedule,
    catalog: Catalog,
    results: Path,
    tell: Tell,
    *,
    resume: bool,
) -> SweepOutcome:
    """Measure a sweep on all nodes that may, to its end or to Ctrl-C, and join it in `results`.

    `order` lacks session and units. What compilers say is kept in `results` too, and not asked again. Nodes
    keep nothing of what has arrived here. MachineError where no node may measure.
    """
    keys = group_keys(schedule)
    admitted = _admitted_nodes(cluster, order, schedule, catalog, tell)
    kinds = {node: info.kind for node, info in admitted.items()}
    is_static = order.depth == "static"
    units = static_units(schedule, len(order.targets), admitted.values()) if is_static else len(keys)
    answers = compile_cache_files(schedule, order.targets, catalog, results) if is_static else {}
    facts = {"sweep": order.sweep, "units": units, "depth": order.depth, "targets": list(order.targets)}
    inbox = (Inbox.newest if resume else Inbox.create)(results, facts)
    order = replace(order, session=inbox.session, units=units)
    interrupted, left, idle = False, dict[int, str](), list[str]()
    with inbox.writing(order.command), terminable():
        done = set(inbox.runs().values())
        try:
            kept = _without_refusals(cluster.ask("prepare", order, answers, nodes=list(kinds)), tell)
            todo = [unit for unit in range(1, units + 1) if unit not in done]
            if is_static:
                todo = _longest_first(todo, schedule, units)
            dispatch = Dispatch({node: kinds[node] for node in kept}, todo, kept)
            progress = _Progress(tell, keys, units, len(done))

            def keep(node: str, measured: MeasuredUnit) -> None:
                inbox.take(measured)
                CompileCache(results).add(measured.compiled)
                progress.unit_arrived(node, measured)

            left = dispatch.run(cluster, keep, tell, progress.unit_begins)
            idle = list(dispatch.kinds)
        except KeyboardInterrupt:
            interrupted = True
        runs = inbox.runs()
        absent = [unit for unit in range(1, units + 1) if unit not in set(runs.values())]
        collection = collect([inbox.path], results) if runs else None
        _tidy(cluster, idle, inbox, tell)
    joined = collection.joined if collection else ()
    return SweepOutcome(
        tuple(run for run in joined if any(piece.run in runs for piece in run.pieces)),
        {key: left.get(unit, "it was not measured") for unit in absent for key in keys[unit - 1 :: units]},
        collection.problems if collection else (),
        interrupted,
        inbox.path,
    )


def _admitted_nodes(
    cluster: RayCluster, order: SweepOrder, schedule: Schedule, catalog: Catalog, tell: Tell
) -> dict[str, NodeInfo]:
    """The nodes that may measure a sweep, with a line on each node. MachineError where there is none."""
    plugins = (*order.config.plugins, *order.plugins)
    admitted = _without_refusals(admit(cluster, plugins, catalog, sorted(schedule.implementations)), tell)
    for node, info in admitted.items():
        tell(f"{node}: {describe_node(info)}")
    if not admitted:
        raise MachineError("no machine may measure this sweep; the reasons stand above")
    return admitted


def _longest_first(todo: Iterable[int], schedule: Schedule, units: int) -> list[int]:
    """The units by the lengths of their cases: a long program that came last would keep all nodes waiting."""
    keys = group_keys(schedule)
    lengths = {group.key: sum(case.seq for case in group.cases) for group in schedule.groups}
    return sorted(todo, key=lambda unit: -sum(lengths.get(key, 0) for key in keys[unit - 1 :: units]))


def static_units(schedule: Schedule, targets: int, nodes: Collection[NodeInfo]) -> int:
    """The number of units to compile in: one for each group where a group keeps all cores of a node busy.

    A node has one unit at a time, and its cores wait for the unit's last program: a unit has so many programs
    that this is a small part. There are more units than nodes, so that a node that is done early goes on.
    """
    groups = len(group_keys(schedule))
    programs = targets * sum(len(group.cases) for group in schedule.groups)
    cores = max(node.facts["cores"] for node in nodes)
    return min(groups, max(2 * len(nodes), programs // (PROGRAMS_PER_CORE * cores)))


def _tidy(cluster: RayCluster, nodes: Sequence[str], inbox: Inbox, tell: Tell) -> None:
    """Let the nodes delete the runs that arrived here, and report those that stay there."""
    for node, left in cluster.ask("finish", inbox.digests(), nodes=nodes).items():
        if isinstance(left, SeqsweepError):
            tell(f"{node}: its runs stay there: {left}")
        elif left:
            place = Path(left[0]).parent
            tell(
                f"{node}: {len(left)} runs that did not arrive here stay in {place}; "
                "the --resume of their sweep fetches them, or delete them there"
            )


def _without_refusals(answers: Mapping[str, Answer | SeqsweepError], tell: Tell) -> dict[str, Answer]:
    """The answers of the nodes that did not refuse; each refusal is a line of its own."""
    others: dict[str, Answer] = {}
    for node, answer in answers.items():
        if isinstance(answer, SeqsweepError):
            tell(f"{node}: refused: {answer}")
        else:
            others[node] = answer
    return others


@dataclass
class _Progress:
    """A line for each begin and each end, with the node's name."""

    tell: Tell
    keys: Sequence[str]
    units: int
    done: int

    def unit_begins(self, node: str, unit: int) -> None:
        self.tell(f"{node} begins {self._name(unit)}")

    def unit_arrived(self, node: str, measured: MeasuredUnit) -> None:
        for message in measured.messages:
            self.tell(f"{node}: {message}")
        if measured.doubt is None:
            self.done += 1
            self.tell(f"[{self.done}/{self.units}] {node}: {self._name(measured.unit)}: {measured.became}")

    def _name(self, unit: int) -> str:
        own = self.keys[unit - 1 :: self.units]
        return own[0] if len(own) == 1 else f"{len(own)} groups from {own[0]}"
