"""The same code compiled under two interpreters, by `static` in each: what a new compiler changes."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.core.errors import SideError, UsageError
from harness.core.plain_data import from_plain
from harness.core.record import Record
from harness.gate.outcome import VANISHED
from harness.gate.sides.import_path import link
from harness.gate.static.diff import StaticFigures, compare
from harness.gate.static.exact_kernel import ExactKernel
from harness.store.find import all_runs
from harness.store.runs import RunFolder

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
    """The change of a case on a target: `verdict` is one of the gate's, `reason` has both figures."""

    case: str
    target: str
    verdict: str
    reason: str
    notes: tuple[str, ...] = ()


def compile_under(python: str, words: Sequence[str], scratch: Path) -> tuple[RunFolder, Versions]:
    """(the run of `static` with these arguments under an interpreter, the versions of its packages).

    SideError, with the last line of its errors, where it compiles nothing.
    """
    packages = {name: _package_folder(name) for name in ("harness", "impls", "seqsweep")}
    (path,) = link(scratch, packages)
    results = scratch / "results"
    ended = _call([python, "-c", BOOT, "static", *words, "--owners", "--results", str(results)], path)
    runs = all_runs(results)
    if not runs or not runs[-1].info.get("finished"):
        said = ended.stderr.strip().splitlines() or [f"it ended with {ended.returncode}"]
        raise SideError(f"{python} compiled nothing: {said[-1]}")
    return runs[-1], versions_of(python, path)


def versions_of(python: str, path: str) -> Versions:
    """The package versions of an interpreter with this import path: its last line, as imports may print."""
    ended = _call([python, "-c", ASK_VERSIONS], path)
    try:
        return from_plain(Versions, json.loads(ended.stdout.strip().splitlines()[-1]))
    except (ValueError, IndexError):
        said = [*ended.stderr.strip().splitlines(), f"it ended with {ended.returncode}"]
        raise SideError(f"{python} does not say its versions: {said[0]}") from None


def _call(command: Sequence[str], path: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, errors="replace", check=False
    )


def _package_folder(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise UsageError(f'"{name}" is not found; install seqsweep, or start it from its checkout')
    return Path(spec.origin).resolve().parent


def compiled_changes(before: Iterable[Record], now: Iterable[Record]) -> list[CompiledChange]:
    """Every case on every target that either side compiled, in the order of `now`."""
    old, new = _figures_of(before), _figures_of(now)
    changes: list[CompiledChange] = []
    for (case, target), figures in new.items():
        verdict, reason, notes = compare(old.get((case, target)), figures, lambda _: None)
        if verdict is not None:
            changes.append(CompiledChange(case, target, verdict, reason, notes))
    gone = (key for key in old if key not in new)
    return [*changes, *(CompiledChange(*key, VANISHED, "it is not compiled any more") for key in gone)]


def _figures_of(records: Iterable[Record]) -> dict[tuple[str, str], StaticFigures]:
    return {
        (record.case, target): StaticFigures.of(
            static,
            kernels={target: tuple(map(ExactKernel.of, static.all_kernels))} if static.all_kernels else {},
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
