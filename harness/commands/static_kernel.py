"""`static FILE.py::KERNEL`: compiled figures of one Triton kernel, without a family or a GPU."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from harness.analysis.kernel_warnings import warning_sentences
from harness.catalog import child_process
from harness.catalog.known_frameworks import NO_TRITON
from harness.commands.output import console, print_json
from harness.commands.streams import print_line
from harness.core.errors import MachineError, UsageError
from harness.core.kernel_figures import KernelFigures
from harness.core.plain_data import from_plain
from harness.core.scratch_folder import ScratchFolder
from harness.core.static_figures import Static
from harness.sweep.overrides import Overrides
from harness.sweep.settings import Settings

ALONE = "a single kernel has no call to trace"


def print_kernel(
    word: str,
    targets: Sequence[str],
    args: str,
    grid: str | None,
    overrides: Overrides,
    *,
    full: bool,
    json: bool,
) -> None:
    """Compile a kernel of a file for targets; print the answer and its configurations, or full descriptions.

    UsageError if it is not found, has wrong arguments, or does not compile for any target.
    """
    timeout_s = Settings().with_overrides(overrides.settings).timeout_s
    question = _question(word, targets, args, grid)
    figures = _plan(word, question, timeout_s * len(targets))
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
        raise UsageError(f"{word}: name a kernel of the file, for example {word}::my_kernel")
    if not Path(file).is_file():
        raise UsageError(f"{word}: {file} is not a file; name a Python file")
    if not targets:
        raise UsageError(f"{word}: a kernel is compiled for GPUs; name one, for example --target cuda:h100")
    if grid is None:
        raise UsageError(f"{word}: the grid is missing; write --grid 64, or --grid 'n/BLOCK'")
    file = str(Path(file).resolve())
    return {"file": file, "kernel": kernel, "args": args, "grid": grid, "targets": list(targets)}


def _plan(word: str, question: Mapping[str, Any], seconds: float) -> dict[str, Static]:
    """The figures by target, from a process that loads the file. UsageError if no target has any."""
    if find_spec("triton") is None:
        raise MachineError(NO_TRITON)
    with ScratchFolder() as folder:
        module = "harness.worker.frameworks.triton.kernel_file"
        try:
            answers = child_process.ask(
                [module, json.dumps({**question, "cache": str(folder)})],
                seconds,
                remedy="move slow code from the module's top level into functions, or raise --timeout",
            )
        except child_process.NoAnswer as error:
            raise UsageError(f"{word}: {error}") from None
    figures = {name: _static(answers[name]) for name in question["targets"]}
    if not any(static.kernels for static in figures.values()):
        raise UsageError(f"{word}: {next(static.unavailable['program'] for static in figures.values())}")
    return figures


def _static(answer: Mapping[str, Any]) -> Static:
    """The figures of a target as in a record, with the reason for missing ones."""
    kernels = from_plain(tuple[KernelFigures, ...], answer["kernels"])
    return replace(Static.none(ALONE if kernels else answer["reason"]), kernels=kernels)
