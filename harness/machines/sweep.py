"""A sweep on the nodes of a cluster: which may measure, who has what, and what came of it, joined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.collection.collection import collect
from harness.collection.joined_run import JoinedRun
from harness.core.errors import MachineError, SeqsweepError
from harness.core.units import format_seconds
from harness.machines.cluster import Cluster, MeasuredUnit
from harness.machines.dispatch import Dispatch
from harness.machines.inbox import Inbox
from harness.machines.node import SweepOrder
from harness.machines.survey import MachineSurvey, survey_machine
from harness.run.session import terminable
from harness.sweep.schedule import Schedule, group_keys

Tell = Callable[[str], None]


@dataclass(frozen=True)
class SweepOutcome:
    """`joined` are the runs that hold what was measured; `open` the groups that are not, with the reason."""

    joined: tuple[JoinedRun, ...]
    open: Mapping[str, str]
    problems: tuple[str, ...]
    interrupted: bool
    inbox: Path


def describe(survey: MachineSurvey) -> str:
    """`AMD EPYC, 2 cores, fingerprint 1a2b3c4, noise probe 484 µs a turn [480 µs, 490 µs], 3% …`."""
    facts, noise = survey.facts, survey.noise
    what = ", ".join(filter(None, [facts["cpu"], f"{facts['cores']} cores", survey.accelerator]))
    median, low, high = map(format_seconds, noise.interval_s)
    probe = f"{median} a turn [{low}, {high}], {noise.taken:.0%} of its slowest core's time was others'"
    return f"{what}, fingerprint {survey.digest}, noise probe {probe}"


def admit(
    cluster: Cluster, plugins: Sequence[str], sources: Sequence[str]
) -> dict[str, MachineSurvey | SeqsweepError]:
    """Each node's survey, or why it may not measure these implementations for this machine."""
    ours = survey_machine(plugins)
    answers: dict[str, MachineSurvey | SeqsweepError] = dict(cluster.ask("survey", tuple(plugins)))
    for node, answer in answers.items():
        if isinstance(answer, MachineSurvey) and (why := ours.refusal(answer, sources)):
            answers[node] = MachineError(why)
    return answers


def measure_on(
    cluster: Cluster, order: SweepOrder, schedule: Schedule, results: Path, tell: Tell, *, resume: bool
) -> SweepOutcome:
    """Measure a sweep on all nodes that may, to its end or to Ctrl-C, and join it in `results`.

    `order` lacks session and units. MachineError where no node may measure.
    """
    keys = group_keys(schedule)
    plugins = (*order.config.plugins, *order.plugins)
    surveys = admit(cluster, plugins, sorted(schedule.implementations))
    for node, survey in surveys.items():
        is_admitted = isinstance(survey, MachineSurvey)
        tell(f"{node}: {describe(survey)}" if is_admitted else f"{node}: refused: {survey}")
    kinds = {node: survey.kind for node, survey in surveys.items() if isinstance(survey, MachineSurvey)}
    if not kinds:
        raise MachineError("no machine may measure this sweep; the reasons stand above")
    # Compiling is handed out in larger parts: what starts a unit anew takes as long as many a compilation.
    units = min(len(keys), 2 * len(kinds)) if order.depth == "static" else len(keys)
    facts = {"sweep": order.sweep, "units": units, "depth": order.depth, "targets": list(order.targets)}
    inbox = (Inbox.newest if resume else Inbox.create)(results, facts)
    order = replace(order, session=inbox.session, units=units)
    interrupted, left = False, dict[int, str]()
    with inbox.writing(order.command), terminable():
        done = set(inbox.runs().values())
        try:
            kept = _prepared(cluster, order, kinds, tell)
            todo = [unit for unit in range(1, units + 1) if unit not in done]
            dispatch = Dispatch({node: kinds[node] for node in kept}, todo, kept)
            progress = _Progress(tell, keys, units, len(done))

            def keep(node: str, measured: MeasuredUnit) -> None:
                inbox.take(measured)
                progress.arrived(node, measured)

            left = dispatch.run(cluster, keep, tell, progress.begins)
        except KeyboardInterrupt:
            interrupted = True
        runs = inbox.runs()
        absent = [unit for unit in range(1, units + 1) if unit not in set(runs.values())]
        collection = collect([inbox.path], results) if runs else None
    joined = collection.joined if collection else ()
    return SweepOutcome(
        tuple(run for run in joined if any(piece.run in runs for piece in run.pieces)),
        {key: left.get(unit, "it was not measured") for unit in absent for key in keys[unit - 1 :: units]},
        collection.problems if collection else (),
        interrupted,
        inbox.path,
    )


def _prepared(
    cluster: Cluster, order: SweepOrder, kinds: Mapping[str, str], tell: Tell
) -> dict[str, Sequence[int]]:
    """The nodes that planned the sweep, with the units that lie finished there."""
    kept: dict[str, Sequence[int]] = {}
    for node, answer in cluster.ask("prepare", order, nodes=list(kinds)).items():
        if isinstance(answer, SeqsweepError):
            tell(f"{node}: refused: {answer}")
        else:
            kept[node] = answer
    return kept


@dataclass
class _Progress:
    """A line for each begin and each end, with the node's name."""

    tell: Tell
    keys: Sequence[str]
    units: int
    done: int

    def begins(self, node: str, unit: int) -> None:
        self.tell(f"{node} begins {self._name(unit)}")

    def arrived(self, node: str, measured: MeasuredUnit) -> None:
        for message in measured.messages:
            self.tell(f"{node}: {message}")
        if measured.doubt is None:
            self.done += 1
            self.tell(f"[{self.done}/{self.units}] {node}: {self._name(measured.unit)}: {measured.became}")

    def _name(self, unit: int) -> str:
        own = self.keys[unit - 1 :: self.units]
        return own[0] if len(own) == 1 else f"{len(own)} groups from {own[0]}"
