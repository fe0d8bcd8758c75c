"""A node: it plans the driver's sweep again, and measures single units of it as an ordinary shard's run.

A unit is a shard of its own: the n-th of as many as there are units. What is measured lies on this node's
disk before it is sent, and is sent from there where it is asked for again.
"""

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil

from harness.catalog import discovery
from harness.collection.collection import run_digest, run_files
from harness.core.errors import MachineError
from harness.core.record import TIMED
from harness.core.scratch_folder import shared_folder
from harness.machines.measured_unit import MeasuredUnit
from harness.machines.node_info import NodeInfo, read_node_info
from harness.run.compile.static_run import WarmCompilers, compile_cache_files, static_run
from harness.run.events import Listener
from harness.run.group.run_context import Checks
from harness.run.machine.noise_history import NoiseHistory
from harness.run.machine.noise_probe import probe_noise
from harness.run.session import Done, Request, conduct
from harness.store.compile_cache import CompileCache
from harness.store.find import all_runs
from harness.store.runs import RunFolder
from harness.sweep.config import Config
from harness.sweep.overrides import Overrides
from harness.sweep.schedule import Schedule, part_of, plan
from harness.sweep.settings import Settings
from harness.sweep.shard import Shard


@dataclass(frozen=True)
class SweepOrder:
    """A sweep as it is sent to every node: what to plan, how deep to measure it, and in how many units.

    `sweep` is the hash of the driver's plan, `session` names this attempt at it. `plugins` are the files that
    the command named; `noise` as in MachinePool.
    """

    session: str
    sweep: str
    units: int
    config: Config
    plugins: tuple[str, ...]
    suites: tuple[str, ...]
    overrides: Overrides
    command: tuple[str, ...]
    depth: str
    checks: Checks = ()
    targets: tuple[str, ...] = ()
    noise: float | None = None


@dataclass
class MeasuringNode:
    """The actor that measures on a node, in a process of Ray's. `apart`: other nodes share its machine."""

    name: str
    apart: bool = False
    warm: WarmCompilers | None = field(default=None, init=False)
    usual: NoiseHistory = field(default_factory=NoiseHistory, init=False)

    def __post_init__(self) -> None:
        # Ray gives its processes one thread and a low priority, and measuring ones would inherit both.
        parent = psutil.Process().parent()
        if "RAY_RAYLET_PID" in os.environ and parent and "OMP_NUM_THREADS" not in parent.environ():
            os.environ.pop("OMP_NUM_THREADS", None)
        if os.nice(0) > 0:
            with suppress(PermissionError):  # the info says so
                os.setpriority(os.PRIO_PROCESS, 0, 0)
        if self.apart:  # locks and temporary files are those of one accelerator
            os.environ["TMPDIR"] = tempfile.tempdir = str(shared_folder(self.name.rpartition("/")[2]))

    @property
    def results(self) -> Path:
        return shared_folder("node")

    def info(self, plugins: Sequence[str]) -> NodeInfo:
        return read_node_info(plugins)

    def prepare(self, order: SweepOrder, answers: Mapping[str, bytes]) -> list[int]:
        """Plan the sweep here; the units of this session that are finished on this disk.

        `answers` are files of the driver's compile cache, so that nothing is compiled again here.
        """
        own, given = Settings(), order.config.given
        follows = {"threads": "threads", "memory": "memory_bytes"}
        settings = {name: getattr(own, name) for key, name in follows.items() if key not in given}
        config = replace(order.config, settings=replace(order.config.settings, **settings))
        self.order = order
        self.catalog = discovery.catalog((*config.plugins, *order.plugins))
        self.whole: Schedule = plan(config, self.catalog, order.suites, order.overrides, installed=True)
        self.answers = set(answers)
        CompileCache(self.results).add(answers)
        self.finished: dict[int, RunFolder] = {}
        for folder in all_runs(self.results):
            info = folder.readable_info([])  # what cannot be read is measured again, and stays
            node = info.get("node") or {}
            if node.get("session") == order.session and not node["doubt"]:
                self.finished[info["shard"]["index"]] = folder
        return list(self.finished)

    def finish(self, arrived: Mapping[str, str]) -> list[str]:
        """End what is warm, and delete the runs that lie with the driver: those of equal hash of their files.

        The paths of the runs that stay: those of other sweeps, and what was lost halfway.
        """
        if self.warm:
            self.warm.close()
            self.warm = None
        for folder in all_runs(self.results):
            with suppress(OSError):  # what cannot be read or deleted stays
                if arrived.get(folder.id) == run_digest(folder.path):
                    shutil.rmtree(folder.path)
        return [str(folder.path) for folder in all_runs(self.results)]

    def measure(self, unit: int) -> MeasuredUnit:
        """Measure a unit, unless it is finished here. MachineError where this node cannot go on."""
        if unit in self.finished:
            return _unit_in(self.finished[unit], unit, None, [])
        timed = self.order.depth in TIMED
        before = probe_noise() if timed else None
        listener = _Messages()
        done = self._run(unit, listener)
        if done.interrupted:
            raise MachineError("it was stopped there")
        after = probe_noise() if timed else None
        doubt = self.usual.judge(before, after, self.order.noise) if before and after else None
        probes = {"before": before and before.to_json(), "after": after and after.to_json()}
        facts = {"name": self.name, "session": self.order.session, "doubt": doubt, "noise": probes}
        done.folder.update_info(node=facts)
        measured = _unit_in(done.folder, unit, doubt, listener.texts)
        if doubt:
            return measured
        self.finished[unit] = done.folder
        return replace(measured, compiled=self._new_answers(unit))

    def _part(self, unit: int) -> Schedule:
        return part_of(self.whole, Shard(unit, self.order.units, self.order.sweep))

    def _new_answers(self, unit: int) -> dict[str, bytes]:
        """The answers to a unit's requests to compilers that the driver does not have."""
        found = compile_cache_files(self._part(unit), self.order.targets, self.catalog, self.results)
        return {name: data for name, data in found.items() if name not in self.answers}

    def _run(self, unit: int, listener: Listener) -> Done:
        order, schedule = self.order, self._part(unit)
        command = (*order.command, "--shard", f"{unit}/{order.units}")
        asked = schedule, self.catalog, self.results, command, order.depth
        request = Request(*asked, checks=order.checks, wait=True)
        if order.depth == "static":
            threads = schedule.suites[0].settings.threads
            self.warm = self.warm or WarmCompilers(self.catalog, self.results, threads)
            return static_run(request, order.targets, listener, warm=self.warm)
        return conduct(request, listener)


def _unit_in(folder: RunFolder, unit: int, doubt: str | None, messages: Sequence[str]) -> MeasuredUnit:
    """The unit that a run's folder holds, as it is sent."""
    counts = Counter(record.status for record in folder.read().records)
    became = ", ".join(f"{count} {status}" for status, count in counts.items())
    return MeasuredUnit(unit, folder.id, run_files(folder.path), became, doubt, tuple(messages))


class _Messages:
    """A listener that keeps the messages of a run for the driver, and shows nothing on the node."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def message(self, text: str) -> None:
        self.texts.append(text)

    def ignore(self, *_: object, **__: object) -> None:
        """Do nothing."""

    group_started = case_state = pause = resume = group_finished = close = ignore
