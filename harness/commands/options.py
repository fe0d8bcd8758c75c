"""Options that several commands share, and options of stored runs, mostly as dataclasses of flags.

Fields hold what was typed. Methods convert it to what the layers below take: overrides of bench.yaml,
a project, names of columns.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from harness.commands.option_groups import REQUIRED, argument, flag, option, option_group
from harness.core.case import split_list
from harness.core.errors import UsageError, nearest
from harness.sweep.project import Project

if TYPE_CHECKING:
    from harness.analysis.filter import Selection
    from harness.sweep.overrides import Overrides


def split_words(values: Sequence[str] | None) -> tuple[str, ...]:
    """Split the values of an option at commas; it may be repeated. UsageError if one has no word."""
    lists = {value: split_list(value) for value in values or ()}
    for value, words in lists.items():
        if not words:
            raise UsageError(f'"{value}" has no word; separate words by commas, or leave it out')
    return tuple(word for words in lists.values() for word in words)


def split_assignments(texts: Sequence[str] | None) -> dict[str, tuple[str, ...]]:
    """Map each FIELD of FIELD=VALUE,… to its values; a repeated field collects all of them."""
    values: dict[str, tuple[str, ...]] = {}
    for text in texts or ():
        name, _, words = text.partition("=")
        if not name.strip() or not split_list(words):
            raise UsageError(f"--set: write FIELD=VALUE, not {text}")
        values[name.strip()] = (*values.get(name.strip(), ()), *split_list(words))
    return values


def put_settings(overrides: "Overrides", **settings: str | None) -> "Overrides":
    """Add settings to the overrides; None means that the setting was not typed."""
    typed = {name: text for name, text in settings.items() if text is not None}
    return replace(overrides, settings={**overrides.settings, **typed})


class OverridingFlags(Protocol):
    """A group of flags that override bench.yaml."""

    def apply(self, overrides: "Overrides") -> "Overrides": ...


def combine(*groups: OverridingFlags) -> "Overrides":
    """Combine the overrides of bench.yaml of all groups."""
    from harness.sweep.overrides import Overrides

    return reduce(lambda overrides, group: group.apply(overrides), groups, Overrides())


SELECTION, LIMITS, RUN, PLACES, OUTPUT = "Selection", "Limits", "Run", "Places", "Output"

Text = str | None
Words = list[str] | None

NOTES = flag(OUTPUT, "Show every footnote with all its cases (default: one of each kind).")
JSON = flag(OUTPUT, "Print one JSON object on stdout instead of text.")
WAIT = flag(LIMITS, "Wait while another benchmark uses the device (default: exit with 5).")
CONFIG = option(PLACES, "Configuration file (default: the nearest bench.yaml, else the built-in one).")
RESULTS = option(PLACES, "Folder of stored runs (default: results, next to bench.yaml).")


@option_group
class TableFlags:
    """The columns and footnotes of the tables."""

    columns: Words = option(OUTPUT, "Show these columns first, or in addition: temp/base,95 %.")

    notes: bool = NOTES

    def column_names(self) -> tuple[str, ...]:
        """Columns to add, or to prefer in a narrow terminal. UsageError for an unknown one."""
        from harness.report.tables.suite import check_columns

        names = split_words(self.columns)
        if names:
            check_columns(names)
        return names


@option_group
class HostSelectionFlags:
    """Which cases to compile: those of the processor, because a target is not a device."""

    family: Words = option(SELECTION, "Families (default: those of the suites).")
    impl: Words = option(SELECTION, "Implementations: name, family/name, name[opt=1] (default: the suite's).")
    seq: Words = option(SELECTION, "Sequence lengths: 4Ki,128Ki or 4Ki..64Ki (default: the suite's).")
    mode: Words = option(SELECTION, "Passes: fwd, bwd, fwd_bwd (default: the suite's, else fwd).")
    set_: Words = option(SELECTION, "Set a workload field, to one value or several: rows=64,128.")
    quick: bool = flag(SELECTION, "Take a first look: two smallest lengths, a tenth of the budget.")
    model: Words = option(SELECTION, "Take the shapes of real models: glm-5,kimi-k2 (see list models).")
    tp: Words = option(SELECTION, "Tensor-parallel devices of a model: 8 (default: the suite's, else 1).")
    phase: Words = option(SELECTION, "Phase: prefill, chunk, decode (default: the suite's, else prefill).")

    def apply(self, overrides: "Overrides") -> "Overrides":
        typed = {"model": self.model, "tp": self.tp, "phase": self.phase}
        return replace(
            overrides,
            families=split_words(self.family),
            impls=split_words(self.impl),
            seqs=split_words(self.seq),
            modes=split_words(self.mode),
            devices=("cpu",),
            fields=split_assignments(self.set_),
            quick=self.quick,
            models={key: split_words(values) for key, values in typed.items() if values},
        )


@option_group
class SelectionFlags(HostSelectionFlags):
    """Which cases, on which devices."""

    device: Words = option(SELECTION, "Devices: cpu, cuda, tpu (default: the suite's, else cpu).")

    def apply(self, overrides: "Overrides") -> "Overrides":
        return replace(super().apply(overrides), devices=split_words(self.device))


@option_group
class CompileLimitFlags:
    """Limits on compiling a case."""

    timeout: Text = option(LIMITS, "Time limit for each step of a case (default: bench.yaml's, else 60s).")
    memory: Text = option(LIMITS, "Memory limit per length: 18GiB, 75% (default: bench.yaml's, else 75%).")
    threads: Text = option(LIMITS, "Cores that a case may use (default: bench.yaml's, else all).")

    def apply(self, overrides: "Overrides") -> "Overrides":
        return put_settings(overrides, timeout=self.timeout, memory=self.memory, threads=self.threads)


@option_group
class LimitFlags(CompileLimitFlags):
    """Limits on a case, and the seed of its inputs."""

    seed: Text = option(LIMITS, "Seed of the inputs (default: bench.yaml's, else 0).")

    def apply(self, overrides: "Overrides") -> "Overrides":
        return put_settings(super().apply(overrides), seed=self.seed)


@option_group
class CatalogFlags:
    """Which bench.yaml, and files with implementations."""

    plugin: Words = option(PLACES, "Also load this file or module of implementations: my.py, pkg.my.")
    config: Path | None = CONFIG

    def project(self) -> Project:
        return Project(self.config, given_plugins=split_words(self.plugin))


@option_group
class ResultsFlags:
    """Which bench.yaml, and where runs are stored."""

    config: Path | None = CONFIG
    results: Text = RESULTS

    def project(self) -> Project:
        return Project(self.config, _local_folder(self.results))


@option_group
class PlaceFlags(CatalogFlags):
    """Which bench.yaml, files with implementations, and where runs are stored."""

    results: Text = RESULTS

    def project(self) -> Project:
        return replace(super().project(), results_path=_local_folder(self.results))


def _local_folder(results: str | None) -> Path | None:
    from harness.store.find import local_folder

    return None if results is None else local_folder(results)


LATEST = "latest"
FORMATS = ("csv", "parquet")

STORED_SUITES = argument("Suites to include (default: all suites of the run).")
BASELINE = option(SELECTION, "Implementation that speedups are relative to (default: the suite's).")
STORED_RUN = option(PLACES, "Stored run: id or its prefix, path, latest, latest~1.", LATEST, name="--run")
SVG_FILE = option(OUTPUT, "Also draw an SVG chart into this file.")


@option_group
class StoredFlags:
    """Which cases of a stored run."""

    family: Words = option(SELECTION, "Families (default: all).")
    impl: Words = option(SELECTION, "Implementations: name, family/name, name[opt=1] (default: all).")
    seq: Words = option(SELECTION, "Sequence lengths: 4Ki,128Ki or 4Ki..64Ki (default: all).")
    mode: Words = option(SELECTION, "Passes: fwd, bwd, fwd_bwd (default: all).")
    device: Words = option(SELECTION, "Devices: cpu, cuda, tpu (default: all).")

    def part(self, suites: Sequence[str] | None) -> "Selection":
        """The part of a run to show: these suites, or all."""
        from harness.analysis.filter import Selection

        words = self.family, self.impl, self.seq, self.mode, self.device
        return Selection(tuple(suites or ()), *map(split_words, words))


@option_group
class ReportFlags:
    """Which document, and where it goes."""

    into: Path | None = option(OUTPUT, "Update the marked blocks of this Markdown file, or create it.")
    check: bool = flag(OUTPUT, "With --into: write nothing, and exit with 1 if the file is stale.")
    pr: bool = flag(OUTPUT, "Write a short receipt of one run, for a pull request.")
    chart: Text = option(OUTPUT, "With --pr: URL of a chart to include.")
    html: Path | None = option(OUTPUT, "Write one self-contained HTML page into this file.")


@option_group
class ExportFlags:
    """Which file format, which table, and where it goes."""

    to: str = option(OUTPUT, "Format: csv or parquet.", REQUIRED)
    out: Path | None = option(OUTPUT, "Output file (default: standard output).")
    samples: bool = flag(OUTPUT, "Write a row per timing sample (default: a row per case).")
    static: bool = flag(OUTPUT, "Write a row per compilation target (default: a row per case).")
    kernels: bool = flag(OUTPUT, "Write a row per GPU kernel, configuration and target.")

    def table(self) -> str:
        """The RunFrames method that returns the rows. UsageError for an unknown format or two tables."""
        tables = [name for name in ("samples", "static", "kernels") if getattr(self, name)]
        if self.to not in FORMATS:
            raise UsageError(f'--to: unknown format "{self.to}"{nearest(self.to, FORMATS)}')
        if len(tables) > 1:
            raise UsageError(f"--{tables[0]} cannot be combined with --{tables[1]}; export one table")
        if self.to == "parquet" and self.out is None:
            raise UsageError("--to parquet: is not text; name a file with --out")
        return [*tables, "frame"][0]
