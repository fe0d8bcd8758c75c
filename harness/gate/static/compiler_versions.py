"""The same code compiled under several interpreters, by `static` in each: what a new compiler changes."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from harness.core.errors import SideError, UsageError
from harness.core.plain_data import from_plain
from harness.core.record import Record
from harness.gate.outcome import UNCHANGED, VANISHED
from harness.gate.sides.import_path import link
from harness.gate.static.diff import StaticFigures, compare, largest_increase
from harness.gate.static.exact_kernel import ExactKernel
from harness.store.find import all_runs

END_SECONDS = 10.0  # that `static` may take to end its processes when it is stopped
BOOT = "from seqsweep import main; main()"
ASK_VERSIONS = """
import json, platform
from harness.catalog.known_frameworks import known, packages_of
from harness.core.version import version_of
versions = {package.name: version_of(package.name) for package in packages_of(known())}
print(json.dumps({**versions, "python": platform.python_version()}))
"""
Versions = Mapping[str, str | None]


@dataclass(frozen=True)
class CompiledChange:
    """The change of a case on a target: `verdict` is one of the gate's, `reason` has both figures.

    `factor` and `increase` say of the figure that grew most by how much: infinite, null as JSON, where it was
    0; 1 and nothing where none grew.
    """

    case: str
    target: str
    verdict: str
    reason: str
    notes: tuple[str, ...] = ()
    factor: float = 1.0
    increase: str = ""


@dataclass(frozen=True)
class CompilerRun:
    """What `static` compiled under one interpreter, and the versions of its packages."""

    versions: Versions
    records: tuple[Record, ...]


@dataclass(frozen=True)
class Upgrade:
    """From one environment to the next: the packages whose versions differ, and the change of every case."""

    versions: Mapping[str, tuple[str | None, str | None]]  # before, now
    cases: tuple[CompiledChange, ...]

    @property
    def changed(self) -> list[CompiledChange]:
        """The cases that changed, the largest increase first."""
        changed = (case for case in self.cases if case.verdict != UNCHANGED)
        return sorted(changed, key=lambda case: -case.factor)


def compile_under(
    python: str, words: Sequence[str], scratch: Path, tell: Callable[[str], None] = lambda _: None
) -> CompilerRun:
    """Run `static` with these arguments under an interpreter; `tell` gets each line of its progress.

    SideError, with the last line of its errors, where it compiles nothing.
    """
    packages = {name: _package_folder(name) for name in ("harness", "impls", "seqsweep")}
    (path,) = link(scratch, packages)
    results = scratch / "results"
    command = [python, "-c", BOOT, "static", *words, "--owners", "--results", str(results)]
    said = ""
    with subprocess.Popen(
        command,
        env=_environment(path),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as process:
        try:
            for line in filter(None, map(str.strip, process.stderr or ())):
                said = line
                tell(line)
        except BaseException:  # stopped: what compiles for nobody would go on
            process.terminate()
            with suppress(KeyboardInterrupt, subprocess.TimeoutExpired):
                process.wait(END_SECONDS)
            process.kill()
            raise
    runs = all_runs(results)
    if not runs or not runs[-1].info.get("finished"):
        raise SideError(f"{python} compiled nothing: {said or f'it ended with {process.returncode}'}")
    return CompilerRun(versions_of(python, path), tuple(runs[-1].read().records))


def upgrades_between(runs: Sequence[CompilerRun]) -> list[Upgrade]:
    """The changes from each environment to the one after it."""
    return [
        Upgrade(
            version_changes(old.versions, new.versions), tuple(compiled_changes(old.records, new.records))
        )
        for old, new in pairwise(runs)
    ]


def versions_of(python: str, path: str) -> Versions:
    """The package versions of an interpreter with this import path: its last line, as imports may print."""
    ended = subprocess.run(
        [python, "-c", ASK_VERSIONS],
        env=_environment(path),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    try:
        return from_plain(Versions, json.loads(ended.stdout.strip().splitlines()[-1]))
    except (ValueError, IndexError):
        said = [*ended.stderr.strip().splitlines(), f"it ended with {ended.returncode}"]
        raise SideError(f"{python} does not say its versions: {said[0]}") from None


def _environment(path: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"}


def _package_folder(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise UsageError(f'"{name}" is not found; install seqsweep, or start it from its checkout')
    return Path(spec.origin).resolve().parent


def compiled_changes(before: Iterable[Record], now: Iterable[Record]) -> list[CompiledChange]:
    """Every case on every target that either side compiled, in the order of `now`."""
    old, new = figures_of(before), figures_of(now)
    changes: list[CompiledChange] = []
    for (case, target), figures in new.items():
        base = old.get((case, target))
        verdict, reason, notes = compare(base, figures, None)
        if verdict is not None:
            most = largest_increase(base, figures) if base is not None else (1.0, "")
            changes.append(CompiledChange(case, target, verdict, reason, notes, *most))
    gone = (key for key in old if key not in new)
    return [*changes, *(CompiledChange(*key, VANISHED, "it is not compiled any more") for key in gone)]


def figures_of(records: Iterable[Record]) -> dict[tuple[str, str], StaticFigures]:
    """(case, target) → its figures, of every target that a case was compiled for."""
    return {
        (record.case, target): StaticFigures.of(
            static,
            kernels={target: tuple(ExactKernel.of(kernel, target) for kernel in static.all_kernels)}
            if static.all_kernels
            else {},
            framework=record.framework,
            owners=static.owners,
            status="ok" if static.has_figures else record.status if record.status != "ok" else "unsupported",
            reason=None
            if static.has_figures
            else record.reason or next(iter(static.unavailable.values()), ""),
        )
        for record in records
        for target, static in record.static.items()
    }


def version_changes(old: Versions, new: Versions) -> dict[str, tuple[str | None, str | None]]:
    """(before, now) of each package whose versions differ, and of Python."""
    return {name: (old.get(name), new[name]) for name in sorted(new) if old.get(name) != new[name]}
