"""Loading of stored runs as DataFrames: `load`, and the runs that it returns."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from harness.analysis.filter import Selection, rebase
from harness.core.case import split_list
from harness.core.errors import UsageError, nearest
from harness.core.record import Record
from harness.frames.rows import (
    Described,
    kernels_frame,
    records_frame,
    samples_frame,
    speedups_frame,
    static_frame,
)
from harness.store.find import find_among, local_folder, runs_in
from harness.store.runs import RunFolder
from harness.store.stored_run import is_run, without_collector

WORDS = ("suite", "family", "impl", "seq", "mode", "device")  # in the order of a Selection's fields

Words = str | int | Iterable[str | int]


def load(
    path: str | Path = "results", run: str | None = None, baseline: str | None = None, **selection: Words
) -> RunFrames:
    """The stored runs at a path or URL: a folder of results, of runs, one run, or its records.jsonl.

    `run` selects one of several, by id, unique prefix or `latest`; `baseline` changes the baseline. `suite`,
    `family`, `impl`, `seq`, `mode` and `device` select like the flags of `seqsweep show`, with one word or
    several (`impl=["scatter", "broadcast"]`, `seq="4Ki"`). Nothing is read before a DataFrame is requested.
    UsageError if the path has no run, and for an unknown selection.
    """
    for word in selection:
        if word not in WORDS:
            raise UsageError(f'load: unknown selection "{word}"{nearest(word, WORDS)}')
    path = local_folder(path)
    chosen = Selection(*(_split(selection.get(word, ())) for word in WORDS))
    return RunFrames(path, tuple(_folders(path, run)), chosen, baseline)


def _split(given: Words) -> tuple[str, ...]:
    values = (given,) if isinstance(given, (str, int)) else given
    return tuple(word for value in values for word in split_list(str(value)))


def _folders(path: Path, run: str | None) -> list[RunFolder]:
    single = path.parent if path.is_file() else path
    folders = [RunFolder(single)] if is_run(single) else [*runs_in(path), *runs_in(path / "runs")]
    if not folders:
        raise UsageError(f"{path} has no runs; name a folder of results, or measure with: seqsweep run")
    return folders if run is None else [find_among(folders, run, path)]


def _warn(problem: str) -> None:
    warnings.warn(problem, stacklevel=4)  # at the line that requested a DataFrame


@dataclass(frozen=True, repr=False)
class RunFrames:
    """Stored runs, read again for each DataFrame; `warn` is called with problems in reading."""

    path: Path  # as given
    folders: tuple[RunFolder, ...]  # oldest first
    selection: Selection
    baseline: str | None = None  # replaces each suite's baseline
    warn: Callable[[str], None] = _warn

    def __repr__(self) -> str:
        first, last = self.folders[0].id, self.folders[-1].id
        runs = f"run {first}" if first == last else f"{len(self.folders)} runs, {first} to {last},"
        chosen = {**vars(self.selection), "baseline": self.baseline}
        words = "".join(f", {name} {value!r}" for name, value in chosen.items() if value)
        return f"<{runs} in {self.path}{words}: .frame() .samples() .static() .kernels() .speedups()>"

    def frame(self) -> pd.DataFrame:
        """One row per record: a case, in one replicate, on one side of a gate, in one run.

        The columns are those of docs/data.md with units in their names, then the fields of the workloads.
        Missing figures are NaN or NA. UsageError for a word of the selection that no run has.
        """
        return self._read(partial(records_frame, rebased=self.baseline is not None))

    def samples(self) -> pd.DataFrame:
        """One row per sample: `sample_s` is seconds per call, `round` is the sample's round."""
        return self._read(samples_frame)

    def static(self) -> pd.DataFrame:
        """One row per record and compiled target, with every compiler figure."""
        return self._read(static_frame)

    def kernels(self) -> pd.DataFrame:
        """One row per kernel of a record, autotuner configuration and target."""
        return self._read(kernels_frame)

    def speedups(self) -> pd.DataFrame:
        """One row per case compared with its suite's baseline; both sides are always from one run.

        `speedup` is the baseline's time over the case's. `low` and `high` bound it at 95 % over `samples` of
        `unit`. `reason` says why there is none.
        """
        return self._read(partial(speedups_frame, selection=self.selection))

    def _read(self, build: Callable[[Iterator[Described]], pd.DataFrame]) -> pd.DataFrame:
        problems: list[str] = []
        with without_collector():
            frame = build(self.selection.across(self._runs(problems)))
        for problem in problems:
            self.warn(problem)
        return frame

    def _runs(self, problems: list[str]) -> Iterator[tuple[Mapping[str, Any], Iterator[Record]]]:
        """Run.json with the fingerprints, and the records, of each run; `problems` gets errors in reading."""
        for folder in self.folders:
            whole: list[str] = []
            lines: list[str] = []
            info = folder.info_with_fingerprints(whole)
            yield info if self.baseline is None else rebase(info, self.baseline), folder.records(lines)
            problems += [f"{folder.path}: {problem}" for problem in whole]
            problems += [f"{folder.path}/{problem}" for problem in lines]
