"""A node of a sweep: checks whether it may measure, and measures its shard like `seqsweep run --shard`."""

import hashlib
import os
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from harness.catalog import discovery
from harness.collection.collection import run_files
from harness.collection.joined_run import kind_of_machine
from harness.core.errors import MachineError
from harness.core.machine import usable_cores
from harness.core.paths import PACKAGE
from harness.core.plain_data import digest
from harness.core.scratch_folder import shared_folder
from harness.core.version import VERSION
from harness.run.compile.static_run import static_run
from harness.run.events import Listener
from harness.run.group.run_context import Checks
from harness.run.machine.probes import probe_fingerprint
from harness.run.session import Done, Request, execute
from harness.store.find import all_runs
from harness.sweep.config import Config
from harness.sweep.overrides import Overrides
from harness.sweep.schedule import identity, part_of, plan
from harness.sweep.select import Shard
from harness.sweep.settings import Settings


@cache
def program() -> str:
    """The version and a hash of the source, `0.1.0 (1a2b3c4)`; checkouts of one version may differ."""
    whole = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        whole.update(f"{path.relative_to(PACKAGE)}\0".encode() + path.read_bytes() + b"\0")
    return f"{VERSION} ({whole.hexdigest()[:7]})"


@dataclass(frozen=True)
class NodeInfo:
    """A node's description: `facts` are its fingerprint with its GPU, `niceness` is its priority."""

    program: str
    facts: Mapping[str, Any]
    niceness: int

    @property
    def digest(self) -> str:
        """The prefix of a hash that is equal for machines with joinable shards."""
        return digest(kind_of_machine(self.facts))[:7]

    @property
    def description(self) -> str:
        """`AMD EPYC, 2 cores, NVIDIA H100, fingerprint 1a2b3c4`."""
        facts = self.facts
        what = filter(None, [facts["cpu"], f"{facts['cores']} cores", facts["gpu"].get("name")])
        return f"{', '.join(what)}, fingerprint {self.digest}"

    def refusal(self) -> str | None:
        """Why it may not measure for this process; None if it may."""
        if self.niceness > 0:
            return f"its processes have niceness {self.niceness}; start Ray there with RAY_worker_niceness=0"
        if self.program != program():
            return f"seqsweep is {program()} here, but {self.program} there; install the same version there"
        return None


@dataclass(frozen=True)
class SweepOrder:
    """The request for a sweep that is sent to every node: the plan's inputs, the depth and the shards.

    `sweep` is the hash of the driver's plan. `plugins` are the files from the command line.
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
    shards: int = 1


@dataclass(frozen=True)
class MeasuredShard:
    """A shard's run that is sent to the driver: its files, and the number of cases by status."""

    run: str
    files: Mapping[str, bytes]
    counts: Mapping[str, int]


class MeasuringNode:
    """The actor that measures on a node, in a process of Ray's."""

    def __init__(self) -> None:
        # Ray gives its processes one thread and a low priority, and measuring processes would inherit both.
        parent = psutil.Process().parent()
        if "RAY_RAYLET_PID" in os.environ and parent and "OMP_NUM_THREADS" not in parent.environ():
            os.environ.pop("OMP_NUM_THREADS", None)
        if os.nice(0) > 0:
            with suppress(PermissionError):  # `info` reports the niceness
                os.setpriority(os.PRIO_PROCESS, 0, 0)

    @property
    def results(self) -> Path:
        return shared_folder("node")

    def info(self, plugins: Sequence[str]) -> NodeInfo:
        """Describe this machine. UsageError if a plugin is missing."""
        discovery.catalog(tuple(plugins))
        found = probe_fingerprint("cpu", usable_cores())
        return NodeInfo(program(), {**found["fingerprint"], "gpu": found["gpu"]}, os.nice(0))

    def measure(self, order: SweepOrder, index: int) -> MeasuredShard:
        """Measure a shard. MachineError if this node cannot; its run stays on the disk until `forget`."""
        own, given = Settings(), order.config.given
        follows = {"threads": "threads", "memory": "memory_bytes"}
        settings = {name: getattr(own, name) for key, name in follows.items() if key not in given}
        config = replace(order.config, settings=replace(order.config.settings, **settings))
        catalog = discovery.catalog((*config.plugins, *order.plugins))
        whole = plan(config, catalog, order.suites, order.overrides, installed=True)
        if digest(identity(whole)) != order.sweep:
            raise MachineError(
                "its implementations or packages differ from those here; install the same there"
            )
        request = Request(
            *(part_of(whole, Shard(index, order.shards, order.sweep)), catalog, self.results),
            *((*order.command, "--shard", f"{index}/{order.shards}"), order.depth),
            checks=order.checks,
            wait=True,
        )
        done = self._run(request, order.targets, _Silent())
        if done.interrupted:
            raise MachineError("it was interrupted there")
        counts = Counter(record.status for record in done.records)
        return MeasuredShard(done.folder.id, run_files(done.folder.path), counts)

    def forget(self, run: str) -> None:
        """Delete a run that the driver has received."""
        for folder in all_runs(self.results):
            if folder.id == run:
                shutil.rmtree(folder.path, ignore_errors=True)

    def _run(self, request: Request, targets: Sequence[str], listener: Listener) -> Done:
        if request.depth == "static":
            return static_run(request, targets, listener)
        return execute(request, listener)


class _Silent:
    """A listener that shows nothing on the node."""

    def ignore(self, *_: object, **__: object) -> None:
        """Do nothing."""

    group_started = case_state = pause = resume = group_finished = message = close = ignore
