"""A node: whether it may measure for a driver, and its shard, measured as `seqsweep run --shard` does."""

import hashlib
import os
import platform
import shutil
import tempfile
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from harness.catalog import discovery
from harness.catalog.catalog import Catalog
from harness.catalog.known_frameworks import known, packages_of
from harness.collection.collection import run_files
from harness.collection.joined_run import kind_of_machine
from harness.core.errors import MachineError
from harness.core.machine import usable_cores
from harness.core.paths import PACKAGE
from harness.core.plain_data import differences
from harness.core.scratch_folder import shared_folder
from harness.core.version import VERSION, version_of
from harness.run.compile.static_run import static_run
from harness.run.events import Listener
from harness.run.group.run_context import Checks
from harness.run.machine.probes import probe_fingerprint
from harness.run.session import Done, Request, conduct
from harness.store import json_file
from harness.store.find import all_runs
from harness.sweep.config import Config
from harness.sweep.overrides import Overrides
from harness.sweep.schedule import part_of, plan
from harness.sweep.select import Shard
from harness.sweep.settings import Settings

SOURCE = "source of "  # before an implementation, as the name of its hash
SHOWN = 3  # differences in a refusal


@dataclass(frozen=True)
class NodeInfo:
    """A node as it is: `facts` are its fingerprint with its GPU, `niceness` says how it yields to others."""

    code: Mapping[str, str | None]  # as installed_code() there
    facts: Mapping[str, Any]
    niceness: int

    @property
    def digest(self) -> str:
        """Equal for machines whose shards may be joined: the beginning of a hash."""
        return json_file.digest(kind_of_machine(self.facts)).removeprefix("sha256:")[:7]

    @property
    def description(self) -> str:
        """`AMD EPYC, 2 cores, NVIDIA H100, fingerprint 1a2b3c4`."""
        facts = self.facts
        what = filter(None, [facts["cpu"], f"{facts['cores']} cores", facts["gpu"].get("name")])
        return f"{', '.join(what)}, fingerprint {self.digest}"

    def refusal(self, ours: Mapping[str, str | None], implementations: Collection[str]) -> str | None:
        """Why it may not measure these for a driver with our code; None where it may."""
        if self.niceness > 0:
            return f"its processes have niceness {self.niceness}; start Ray there with RAY_worker_niceness=0"
        wanted = {f"{SOURCE}{name}" for name in implementations}
        found = [
            f"{name} differs" if name in wanted else f"{name} is {here} here and {there} there"
            for name, here, there in differences(ours, self.code)
            if name in wanted or not name.startswith(SOURCE)
        ]
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        return f"{', '.join(found[:SHOWN])}{more}; install the same there" if found else None


def installed_code(catalog: Catalog) -> dict[str, str | None]:
    """The code that driver and node must share: versions, and the hashes of all that is registered here."""
    return {
        "seqsweep": f"{VERSION} ({_own_hash()})",
        "python": platform.python_version(),
        **{package.name: version_of(package.name) for package in packages_of(known()) if not package.gives},
        **{f"{SOURCE}{name}": info.hash for name, info in catalog.implementations.items()},
    }


def read_node_info(plugins: Sequence[str]) -> NodeInfo:
    """This machine, with everything registered here and in these plugins. UsageError where one is missing."""
    found = probe_fingerprint("cpu", usable_cores())
    return NodeInfo(
        installed_code(discovery.catalog(tuple(plugins))),
        facts={**found["fingerprint"], "gpu": found["gpu"]},
        niceness=os.nice(0),
    )


@cache
def _own_hash() -> str:
    """The beginning of a hash of this program: two checkouts of one version may differ."""
    whole = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        whole.update(f"{path.relative_to(PACKAGE)}\0".encode() + path.read_bytes() + b"\0")
    return whole.hexdigest()[:7]


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
