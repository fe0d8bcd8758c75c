"""`static FILE.py::KERNEL`: the figures of a single Triton kernel, without a family, on absent GPUs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from harness.analysis.kernel_warnings import warning_sentences
from harness.catalog import child_process
from harness.catalog.accelerators import target
from harness.catalog.known_frameworks import NO_TRITON
from harness.catalog.source_hash import closure, has_changed, source_hash
from harness.commands.output import console, print_json
from harness.commands.streams import print_line
from harness.core.errors import MachineError, UsageError
from harness.core.kernel_figures import KernelFigures
from harness.core.plain_data import from_plain
from harness.core.scratch_folder import ScratchFolder
from harness.core.static_figures import Static
from harness.run.compile.pool import surroundings
from harness.store.compile_cache import CompileCache
from harness.sweep.overrides import Overrides
from harness.sweep.settings import Settings

ALONE = "a kernel by itself has no call that could be traced"


def print_kernel(
    word: str,
    targets: Sequence[str],
    args: str,
    grid: str | None,
    overrides: Overrides,
    *,
    results: Path,
    full: bool,
    json: bool,
) -> None:
    """Compile a kernel of a file for targets; print the answer and its configurations, or all about each.

    What is compiled is kept below `results`, as that of cases is.

    UsageError where it cannot be found, launched as asked, or compiled for any of them.
    """
    timeout_s = Settings().with_overrides(overrides.settings).timeout_s
    question = _question(word, targets, args, grid)
    figures = _plan(word, question, timeout_s * len(targets), CompileCache(results))
    if json:
        warnings = {name: warning_sentences(static.kernels, name) for name, static in figures.items()}
        static = {name: asdict(static) for name, static in figures.items()}
        print_json({"kernel": word, "static": static, "kernel_warnings": warnings})
        return
    from harness.report.tables.kernels import answer_lines, configurations_table, kernel_paragraph
    from harness.report.tables.render import print_tables

    for name, static in figures.items():
        if not static.kernels:
            print_line(f"{name}: {static.unavailable['program']}")
        for line in answer_lines(name, [("", kernel) for kernel in static.kernels]):
            print_line(line)
        for sentence in warning_sentences(static.kernels, name):
            print_line(f"{name}: {sentence}.")
    print_line("")
    if full:
        for name, static in figures.items():
            for kernel in static.kernels:
                print_line("\n".join(kernel_paragraph(kernel, name)))
        return
    tables = [configurations_table(f"{word} on {name}", static.kernels) for name, static in figures.items()]
    print_tables(console(), *(table for table in tables if table.rows))


def _question(word: str, targets: Sequence[str], args: str, grid: str | None) -> dict[str, Any]:
    """The request to :mod:`harness.worker.frameworks.triton.kernel_file`. UsageError for a missing part."""
    file, _, kernel = word.partition("::")
    if not kernel:
        raise UsageError(f"{word}: name a kernel of the file, as in {word}::my_kernel")
    if not Path(file).is_file():
        raise UsageError(f"{word}: {file} is no file")
    if not targets:
        raise UsageError(f"{word}: a kernel is compiled for GPUs; name one as in --target cuda:h100")
    if grid is None:
        raise UsageError(f"{word}: say how many blocks are launched: --grid 64, or --grid 'n/BLOCK'")
    file = str(Path(file).resolve())
    return {"file": file, "kernel": kernel, "args": args, "grid": grid, "targets": list(targets)}


def _plan(word: str, question: Mapping[str, Any], seconds: float, cache: CompileCache) -> dict[str, Static]:
    """The figures by target, kept or compiled. UsageError where there are none at all."""
    if find_spec("triton") is None:
        raise MachineError(NO_TRITON)
    keys = {name: _key(question, name) for name in question["targets"]}
    kept = {name: cache.get(entry) for name, entry in keys.items()}
    answers = {name: answer for name, answer in kept.items() if answer}
    if missing := [name for name in keys if name not in answers]:
        new = _compile(word, {**question, "targets": missing}, seconds)
        answers |= new
        edited = any(map(has_changed, closure(Path(question["file"]))))  # while it was compiled
        for name, answer in new.items():
            if answer["kernels"] and not edited:
                cache.put(keys[name], answer)
    figures = {name: _static(answers[name]) for name in keys}
    if not any(static.kernels for static in figures.values()):
        raise UsageError(f"{word}: {next(static.unavailable['program'] for static in figures.values())}")
    return figures


def _key(question: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Everything that the figures for a target depend on; the source hash covers the file's imports, too."""
    file = Path(question["file"])
    return {
        **{part: question[part] for part in ("kernel", "args", "grid")},
        "target": name,
        "device": str(target(name).accelerator),
        "source": source_hash(file, file),
        **surroundings(),
    }


def _compile(word: str, question: Mapping[str, Any], seconds: float) -> dict[str, dict[str, Any]]:
    """The answers of a process that reads the file, by target. UsageError where it gives none."""
    with ScratchFolder() as folder:
        cache = str(folder)
        try:
            return child_process.ask(
                ["harness.worker.frameworks.triton.kernel_file", json.dumps({**question, "cache": cache})],
                seconds,
                remedy="move work from the module's top into functions, or raise --timeout",
            )
        except child_process.NoAnswer as error:
            raise UsageError(f"{word}: {error}") from None


def _static(answer: Mapping[str, Any]) -> Static:
    """The figures of a target in the form that a record has, with the reason for those that are missing."""
    kernels = from_plain(tuple[KernelFigures, ...], answer["kernels"])
    return replace(Static.none(ALONE if kernels else answer["reason"]), kernels=kernels)
