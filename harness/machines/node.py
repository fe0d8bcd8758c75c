"""A node: it plans the driver's sweep again, and measures a shard of it as `seqsweep run --shard` does."""

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import psutil

from harness.catalog import discovery
from harness.collection.collection import run_files
from harness.core.errors import MachineError
from harness.core.scratch_folder import shared_folder
from harness.machines.node_info import NodeInfo, read_node_info
from harness.run.compile.static_run import static_run
from harness.run.events import Listener
from harness.run.group.run_context import Checks
from harness.run.session import Done, Request, conduct
from harness.store.find import all_runs
from harness.sweep.config import Config
from harness.sweep.overrides import Overrides
from harness.sweep.schedule import part_of, plan
from harness.sweep.select import Shard
from harness.sweep.settings import Settings


@dataclass(frozen=True)
class SweepOrder:
    """A sweep as it is sent to every node: what to plan, how deep to measure it, and in how many shards.

    `sweep` is the hash of the driver's plan. `plugins` are the files that the command named. With `resume` a
    shard that was begun on a node is continued there.
    """

    sweep: str
    config: Config
    plugins: tuple[str, ...]
    suites: tuple[str, ...]
    overrides: Overrides
    command: tuple[str, ...]
    depth: str
    checks: Checks = ()
    targets: tuple[str, ...] = ()
    resume: bool = False
    shards: int = 1


@dataclass(frozen=True)
class MeasuredShard:
    """A shard's run as it is sent to the driver: its files, its cases counted by status, and its messages."""

    run: str
    files: Mapping[str, bytes]
    counts: Mapping[str, int]
    messages: tuple[str, ...] = ()


@dataclass
class MeasuringNode:
    """The actor that measures on a node, in a process of Ray's. `apart`: other nodes share its machine."""

    name: str
    apart: bool = False

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

    def measure(self, order: SweepOrder, index: int) -> MeasuredShard:
        """Measure a shard. MachineError where this node cannot; its run stays on the disk until `forget`."""
        own, given = Settings(), order.config.given
        follows = {"threads": "threads", "memory": "memory_bytes"}
        settings = {name: getattr(own, name) for key, name in follows.items() if key not in given}
        config = replace(order.config, settings=replace(order.config.settings, **settings))
        catalog = discovery.catalog((*config.plugins, *order.plugins))
        whole = plan(config, catalog, order.suites, order.overrides, installed=True)
        shard = Shard(index, order.shards, order.sweep)
        known = [folder.readable_info([]) for folder in all_runs(self.results)]
        request = Request(
            *(part_of(whole, shard), catalog, self.results),
            *((*order.command, "--shard", f"{index}/{order.shards}"), order.depth),
            resume=order.resume and any(info.get("shard") == asdict(shard) for info in known),
            checks=order.checks,
            wait=True,
        )
        listener = _Messages()
        done = self._run(request, order.targets, listener)
        if done.interrupted:
            raise MachineError("it was stopped there")
        counts = Counter(record.status for record in done.records)
        return MeasuredShard(done.folder.id, run_files(done.folder.path), counts, tuple(listener.texts))

    def forget(self, runs: Collection[str]) -> None:
        """Delete runs that lie with the driver."""
        for folder in all_runs(self.results):
            if folder.id in runs:
                shutil.rmtree(folder.path, ignore_errors=True)

    def _run(self, request: Request, targets: Sequence[str], listener: Listener) -> Done:
        if request.depth == "static":
            return static_run(request, targets, listener)
        return conduct(request, listener)


class _Messages:
    """A listener that keeps the messages of a run for the driver, and shows nothing on the node."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def message(self, text: str) -> None:
        self.texts.append(text)

    def ignore(self, *_: object, **__: object) -> None:
        """Do nothing."""

    group_started = case_state = pause = resume = group_finished = close = ignore
