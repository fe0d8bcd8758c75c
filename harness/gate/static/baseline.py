"""The baseline file: the committed static figures of every case, for one target and one set of versions.

It catches changes that both sides of a gate share, such as a harness that lowers every case differently.
Each set of versions has a file of its own, so nothing is compared across versions. The file is JSON with one
case per line, sorted, so that a diff shows which figures of which case changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from harness.catalog.known_frameworks import known, traits_of
from harness.core.errors import UsageError
from harness.core.plain_data import from_plain
from harness.core.regular_file import read_regular
from harness.core.static_figures import EXACT_FIGURES, change
from harness.gate.static.diff import STORED, StaticFigures, kernel_changes
from harness.store.atomic import write_files

SCHEMA = 1
UPDATE = "seqsweep gate --static --update"


@dataclass(frozen=True)
class ProcessorKey:
    """The host's processor. `flags` hashes the features that decide what is planned; `name` is for people."""

    name: str
    flags: str

    @classmethod
    def of(cls, name: str, flags: Iterable[str]) -> ProcessorKey:
        spelled = " ".join(sorted(set(flags)))
        return cls(name, f"sha256:{sha256(spelled.encode()).hexdigest()}")


@dataclass(frozen=True)
class Baseline:
    """The file. `cases` have the fields that are written, and defaults in the others.

    `versions` are those of the compilers: the host compilers, which are also in the file's name, and the
    kernel compilers, whose output for a target does not depend on the machine.
    """

    target: str
    versions: Mapping[str, str]
    processor: ProcessorKey
    threads: int
    cases: Mapping[str, StaticFigures] = field(default_factory=dict[str, StaticFigures])

    def same_host(self, other: Baseline) -> bool:
        """Whether both files have one processor and number of threads, so that host plans are comparable."""
        return (self.processor.flags, self.threads) == (other.processor.flags, other.threads)

    def same_kernel_compiler(self, other: Baseline, framework: str) -> bool:
        """Whether one version of the framework's kernel compiler compiled the kernels of both files."""
        compiler = traits_of(framework).kernel_compiler
        return self.versions.get(compiler) == other.versions.get(compiler)

    def comparable_kernels(self, other: Baseline) -> set[str]:
        """The cases whose kernels one compiler version compiled for both files."""
        cases = ((case, figures) for case, figures in self.cases.items() if figures.kernels)
        return {case for case, figures in cases if self.same_kernel_compiler(other, figures.framework)}


def path_of(results: Path, target: str, versions: Mapping[str, str | None]) -> Path:
    """`results/baselines/host-torch2.13.0-jaxlib0.10.2.json`, named after the host compilers."""
    compilers = dict.fromkeys(traits_of(framework).host_compiler for framework in known())
    parts = [f"{name}{versions[name]}" for name in compilers if versions.get(name)]
    return results / "baselines" / (re.sub(r"[^\w.+-]+", "-", "-".join([target, *parts])) + ".json")


def read(path: Path) -> Baseline | None:
    """The file's content; None if it does not exist. UsageError, with the line, where it is damaged."""
    try:
        text = read_regular(path).decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read ({error}); restore it from git") from None
    try:
        data = json.loads(text, object_pairs_hook=_refuse_duplicates)
        if data.get("schema") != SCHEMA:
            raise _DamageError(
                f"schema {data.get('schema')} is not {SCHEMA}; use a seqsweep that wrote it", "schema"
            )
        cases = {case: _parse_case(case, entry) for case, entry in data["cases"].items()}
        return replace(from_plain(Baseline, {**data, "cases": {}}), cases=cases)
    except json.JSONDecodeError as error:
        line, what = error.lineno, f"not JSON ({error.msg})"
    except _DamageError as error:
        line, what = _line(text, error.key), str(error)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        line, what = 1, f"not a file of exact figures ({error})"
    raise UsageError(f"{path}:{line}: {what}; restore it from git, or remove it and write another: {UPDATE}")


def write(path: Path, baseline: Baseline) -> None:
    """Write it whole, or leave the old one. Raises MachineError."""
    head = {
        "schema": SCHEMA,
        "target": baseline.target,
        "versions": dict(sorted(baseline.versions.items())),
        "processor": asdict(baseline.processor),
        "threads": baseline.threads,
    }
    lines = [f"{json.dumps(name)}: {json.dumps(value)}," for name, value in head.items()]
    cases = [f"{json.dumps(case)}: {_entry(figures)}" for case, figures in sorted(baseline.cases.items())]
    text = "\n".join(["{", *lines, '"cases": {', ",\n".join(cases), "}", "}", ""])
    write_files(path.parent, {path.name: text.encode()})


def _entry(case: StaticFigures) -> str:
    """A case as JSON. Whole numbers have no decimal point, so int and float counts give the same file."""
    entry = {name: value for name in STORED if (value := getattr(case, name)) or name != "kernels"}
    if case.kernels:
        entry["kernels"] = {
            target: [{"label": kernel.label, "figures": kernel.figures} for kernel in kernels]
            for target, kernels in case.kernels.items()
        }
    figures = {name: case.figures.get(name) for name in EXACT_FIGURES}
    whole = {name: int(v) if v is not None and v == int(v) else v for name, v in figures.items()}
    return json.dumps({**entry, "figures": whole})


class _DamageError(ValueError):
    """Damage in the file, at the line that contains `key`."""

    def __init__(self, text: str, key: str) -> None:
        super().__init__(text)
        self.key = key


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, value in pairs:
        if name in members:  # a merge that kept both lines
            raise _DamageError(f"{name} stands there twice", name)
        members[name] = value
    return members


def _line(text: str, key: str) -> int:
    return next((number for number, line in enumerate(text.splitlines(), 1) if json.dumps(key) in line), 1)


def _parse_case(case: str, data: Any) -> StaticFigures:
    """A case of the file. Figures that older versions did not write are unavailable."""
    try:
        figures = {name: data["figures"].get(name) for name in EXACT_FIGURES}
        return from_plain(StaticFigures, {**data, "figures": figures})
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _DamageError(f"the line of {case} is no case ({error})", case) from None


def merge(old: Baseline | None, new: Baseline, gone: Collection[str] = ()) -> Baseline:
    """The old file, updated with the new cases and without those that are `gone`.

    UsageError where cases of another processor, number of threads or kernel compiler would remain beside
    the new ones.
    """
    if old is None:
        return new
    remaining = {case: kept for case, kept in old.cases.items() if case not in gone}
    untouched = remaining.keys() - new.cases.keys()
    if untouched and not old.same_host(new):
        raise UsageError(
            f"the file was written on {old.processor.name} with threads {old.threads}, and "
            f"{len(untouched)} of its cases would stay; update all cases at once, without --cases"
        )
    versions = dict(new.versions)
    for framework in {remaining[case].framework for case in untouched if remaining[case].kernels}:
        compiler = traits_of(framework).kernel_compiler
        if compiler in versions and not old.same_kernel_compiler(new, framework):
            raise UsageError(
                f"the file has kernels by {compiler} {old.versions.get(compiler)}, and {len(untouched)} of "
                "its cases would stay; update all cases at once, without --cases"
            )
        versions |= {name: version for name, version in old.versions.items() if name == compiler}
    return Baseline(new.target, versions, new.processor, new.threads, {**remaining, **new.cases})


def diff(old: Baseline | None, new: Baseline) -> list[str]:
    """What an update changes, a line each: `mask/scatter@…: temp 4.00 MiB -> 8.00 MiB (2.00×)`."""
    lines: list[str] = []
    if old and old.processor.flags != new.processor.flags:
        lines.append(f"processor: {old.processor.name} -> {new.processor.name}")
    if old and old.threads != new.threads:
        lines.append(f"threads: {old.threads} -> {new.threads}")
    before = old.cases if old else {}
    for case in sorted({*before, *new.cases}):
        if case not in new.cases:
            lines.append(f"{case}: left")
        elif case not in before:
            lines.append(f"{case}: joined")
        elif changes := _changes(before[case], new.cases[case]):
            lines.append(f"{case}: {', '.join(changes)}")
    return lines


def _changes(old: StaticFigures, new: StaticFigures) -> list[str]:
    changes = [
        change(name, old.figures.get(name), new.figures.get(name))
        for name in EXACT_FIGURES
        if old.figures.get(name) != new.figures.get(name)
    ]
    for what in ("framework", "flops_source", "contract", "passed"):
        before, after = getattr(old, what), getattr(new, what)
        if before != after:
            changes.append(f"{what} {before} -> {after}")
    changes += _left_and_joined("custom call", old.custom_calls, new.custom_calls)
    changes += [sentence for _, sentence in kernel_changes(old, new)]
    kernels = (
        dict.fromkeys(
            f"{kernel.label} on {target}" for target in side.kernels for kernel in side.kernels[target]
        )
        for side in (old, new)
    )
    changes += _left_and_joined("kernel", *kernels)
    return changes or (["another program, same figures"] if old.program != new.program else [])


def _left_and_joined(what: str, before: Collection[str], after: Collection[str]) -> list[str]:
    return [
        *(f"{what} {name} left" for name in before if name not in after),
        *(f"{what} {name} joined" for name in after if name not in before),
    ]
