"""The options that several commands share, and those of stored runs, most in groups: dataclasses of flags.

Fields hold what was typed. Methods turn it into what the layers below take: overrides of bench.yaml,
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
    """The words of an option: given once with commas, or several times. UsageError where one has none."""
    lists = {value: split_list(value) for value in values or ()}
    for value, words in lists.items():
        if not words:
            raise UsageError(f'"{value}" names nothing: write words with commas between, or leave it out')
    return tuple(word for words in lists.values() for word in words)


def split_assignments(texts: Sequence[str] | None) -> dict[str, tuple[str, ...]]:
    """The values of each FIELD=VALUE,…; a field given twice has the values of both."""
    values: dict[str, tuple[str, ...]] = {}
    for text in texts or ():
        name, _, words = text.partition("=")
        if not name.strip() or not split_list(words):
            raise UsageError(f"--set: write FIELD=VALUE, not {text}")
        values[name.strip()] = (*values.get(name.strip(), ()), *split_list(words))
    return values


def put_settings(overrides: "Overrides", **settings: str | None) -> "Overrides":
    """The overrides with the given settings added; None is a setting that was not given."""
    given = {name: text for name, text in settings.items() if text is not None}
    return replace(overrides, settings={**overrides.settings, **given})


class OverridingFlags(Protocol):
    """A group of flags that override bench.yaml."""

    def apply(self, overrides: "Overrides") -> "Overrides": ...


def combine(*groups: OverridingFlags) -> "Overrides":
    """The overrides of bench.yaml that all groups make together."""
    from harness.sweep.overrides import Overrides

    return reduce(lambda overrides, group: group.apply(overrides), groups, Overrides())


SELECTION, LIMITS, RUN, PLACES, OUTPUT = "Selection", "Limits", "Run", "Places", "Output"

Text = str | None
Words = list[str] | None

NOTES = flag(OUTPUT, "Every footnote and case, not one for each kind.")
JSON = flag(OUTPUT, "One JSON object on stdout, nothing else there.")
WAIT = flag(LIMITS, "Wait while another benchmark holds the device, instead of ending with 5.")
DEVICE = option(SELECTION, "Where to run: cpu, cuda, tpu.")
IMPL = option(SELECTION, "Only these: name, family/name, name[opt=1].")
CONFIG = option(PLACES, "Another bench.yaml.")
RESULTS = option(PLACES, "Folder of stored runs.")


@option_group
class TableFlags:
    """The columns and footnotes of the tables."""

    columns: Words = option(OUTPUT, "Columns to add or prefer: temp/base,95 %.")

    notes: bool = NOTES

    def column_names(self) -> tuple[str, ...]:
        """The columns to add, or to prefer in a narrow terminal. UsageError for an unknown one."""
        from harness.report.tables.suite import check_columns

        names = split_words(self.columns)
        if names:
            check_columns(names)
        return names


@option_group
class PointFlags:
    """Which implementations, and at which points."""

    family: Words = option(SELECTION, "Only these families.")
    impl: Words = IMPL
    seq: Words = option(SELECTION, "Lengths instead of the suite's: 4Ki,128Ki or 4Ki..64Ki.")
    mode: Words = option(SELECTION, "Forward, backward, or both: fwd, bwd, fwd_bwd.")


@option_group
class HostSelectionFlags(PointFlags):
    """Which cases to compile: those of the processor, because a target is not a device."""

    set_: Words = option(SELECTION, "A workload field: rows=64,128.")
    quick: bool = flag(SELECTION, "A first look: the two smallest lengths, a tenth of the budget.")
    model: Words = option(SELECTION, "A real model's fields: glm-5,kimi-k2; list models has all.")
    tp: Words = option(SELECTION, "Devices that divide the model's heads: 8.")
    phase: Words = option(SELECTION, "What the model does: prefill, chunk, decode.")

    def apply(self, overrides: "Overrides") -> "Overrides":
        given = {"model": self.model, "tp": self.tp, "phase": self.phase}
        return replace(
            overrides,
            families=split_words(self.family),
            impls=split_words(self.impl),
            seqs=split_words(self.seq),
            modes=split_words(self.mode),
            devices=("cpu",),
            fields=split_assignments(self.set_),
            quick=self.quick,
            models={key: split_words(values) for key, values in given.items() if values},
        )


@option_group
class SelectionFlags(HostSelectionFlags):
    """Which cases, on which devices."""

    device: Words = DEVICE

    def apply(self, overrides: "Overrides") -> "Overrides":
        return replace(super().apply(overrides), devices=split_words(self.device))


@option_group
class CompileLimitFlags:
    """Limits on compiling a case."""

    timeout: Text = option(LIMITS, "One step of a case, as a compilation: 60s.")
    memory: Text = option(LIMITS, "All cases of a length together: 18GiB, 75%.")
    threads: Text = option(LIMITS, "Cores a case may use.")

    def apply(self, overrides: "Overrides") -> "Overrides":
        return put_settings(overrides, timeout=self.timeout, memory=self.memory, threads=self.threads)


@option_group
class LimitFlags(CompileLimitFlags):
    """Limits on a case, and the seed of its inputs."""

    seed: Text = option(LIMITS, "Seed of the inputs.")

    def apply(self, overrides: "Overrides") -> "Overrides":
        return put_settings(super().apply(overrides), seed=self.seed)


@option_group
class CatalogFlags:
    """Which bench.yaml, and files with implementations."""

    plugin: Words = option(PLACES, "A file or a module with implementations: my.py, pkg/my.py, pkg.my.")
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
FORMS = ("csv", "parquet")

KEPT_SUITES = argument("Suites to keep; none: all of the run.")
BASELINE = option(SELECTION, "What speedups are relative to.")
STORED_RUN = option(
    PLACES, "A stored run: id, its beginning, path, latest or latest~1.", LATEST, name="--run"
)
SVG_FILE = option(OUTPUT, "Draw it into this SVG file.")


@option_group
class StoredFlags(PointFlags):
    """Which cases of a stored run."""

    device: Words = DEVICE

    def part(self, suites: Sequence[str] | None) -> "Selection":
        """The part of a run to show: of these suites, or of all."""
        from harness.analysis.filter import Selection

        words = self.family, self.impl, self.seq, self.mode, self.device
        return Selection(tuple(suites or ()), *map(split_words, words))


@option_group
class ReportFlags:
    """Which document, and where it goes."""

    into: Path | None = option(OUTPUT, "Fill the marked blocks of this Markdown file, or make it.")
    check: bool = flag(OUTPUT, "With --into: write nothing; exit 1 if stale.")
    pr: bool = flag(OUTPUT, "A receipt of one run, for a pull request.")
    chart: Text = option(OUTPUT, "With --pr: the URL of a chart to show.")
    html: Path | None = option(OUTPUT, "Write one page that needs no network into this file.")


@option_group
class ExportFlags:
    """Which form, of what, and where it goes."""

    to: str = option(OUTPUT, "csv or parquet.", REQUIRED)
    out: Path | None = option(OUTPUT, "Write this file, not standard output.")
    samples: bool = flag(OUTPUT, "A row per reading.")
    static: bool = flag(OUTPUT, "A row per compiled target.")
    kernels: bool = flag(OUTPUT, "A row per GPU kernel, configuration and target.")

    def table(self) -> str:
        """The method of RunFrames that gives the rows. UsageError for an unknown form, and two tables."""
        asked = [name for name in ("samples", "static", "kernels") if getattr(self, name)]
        if self.to not in FORMS:
            raise UsageError(f'--to: unknown form "{self.to}"{nearest(self.to, FORMS)}')
        if len(asked) > 1:
            raise UsageError(f"--{asked[0]}: goes without --{asked[1]}; export one table at a time")
        if self.to == "parquet" and self.out is None:
            raise UsageError("--to parquet: is no text; name a file with --out")
        return [*asked, "frame"][0]
