"""The options of all commands, in groups: frozen dataclasses, whose fields typer reads as flags.

Fields hold what was typed. Methods turn it into what the layers below take: overrides of bench.yaml,
a project, a part of a stored run, the options of a gate. `rich_help_panel` is the section of the help.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.core.case import split_list
from harness.core.errors import UsageError
from harness.sweep.project import Project

if TYPE_CHECKING:
    from harness.analysis.filter import Selection
    from harness.gate.options import GateOptions
    from harness.sweep.overrides import Overrides

# No == and no repr(): nothing needs them, and generating them would slow every start.
option_group = dataclass(frozen=True, eq=False, repr=False)


def option(section: str, name: str, text: str) -> Any:
    """An option for typer, in a section of the help."""
    return typer.Option(name, help=text, rich_help_panel=section)


def split_words(values: Sequence[str] | None) -> tuple[str, ...]:
    """The words of an option: given once with commas, or several times."""
    return tuple(word for value in values or () for word in split_list(value))


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


def combine(*groups: "HostSelectionFlags | CompileLimitFlags | RunFlags") -> "Overrides":
    """The overrides of bench.yaml that all groups make together."""
    from harness.sweep.overrides import Overrides

    overrides = Overrides()
    for group in groups:
        overrides = group.apply(overrides)
    return overrides


SELECTION, LIMITS, RUN, TARGETS, GATE = "Selection", "Limits", "Run", "Targets", "Gate"
PLACES, OUTPUT = "Places", "Output"

Text = str | None
Words = list[str] | None

Ids = Annotated[Words, typer.Argument(help="Families, implementations or checks; none: all.")]
ProfiledIds = Annotated[list[str], typer.Argument(help="Implementations or families to profile.")]
Suites = Annotated[Words, typer.Argument(help="Suites of bench.yaml; none: its default ones.")]
StoredSuites = Annotated[Words, typer.Argument(help="Suites to keep; none: all of the run.")]
ClaimNames = Annotated[
    Words, typer.Argument(help="Families, or claims as FAMILY/ID; none: all, and docs/CLAIMS.md is written.")
]
FamilyName = Annotated[
    Text,
    typer.Argument(help="A family: its inputs, results, contracts and checks; none: everything in short."),
]
FirstRun = Annotated[
    str, typer.Argument(help="A stored run: id, its beginning, path, latest or latest~1; of two the earlier.")
]
SecondRun = Annotated[Text, typer.Argument(help="The later run; none: --impl inside one.")]

Family = Annotated[Words, option(SELECTION, "--family", "Only these families.")]
Impl = Annotated[Words, option(SELECTION, "--impl", "Only these: name, family/name, name[opt=1].")]
Seq = Annotated[Words, option(SELECTION, "--seq", "Lengths instead of the suite's: 4Ki,128Ki or 4Ki..64Ki.")]
Mode = Annotated[Words, option(SELECTION, "--mode", "fwd, bwd, fwd_bwd.")]
Device = Annotated[Words, option(SELECTION, "--device", "cpu, cuda, tpu.")]
Force = Annotated[bool, option(SELECTION, "--force", "Show runs of different machines.")]
Config = Annotated[Path | None, option(PLACES, "--config", "Another bench.yaml.")]
Plugin = Annotated[Words, option(PLACES, "--plugin", "A file with implementations.")]
Results = Annotated[Path | None, option(PLACES, "--results", "Folder of stored runs.")]
StoredBaseline = Annotated[Text, option(SELECTION, "--baseline", "What speedups are relative to.")]
StoredRun = Annotated[
    str, option(PLACES, "--run", "A stored run: id, its beginning, path, latest or latest~1.")
]
ChartFolder = Annotated[Path | None, option(PLACES, "--out", "Folder for the SVGs.")]
Notes = Annotated[bool, option(OUTPUT, "--notes", "Every footnote and case, not one for each kind.")]
Keep = Annotated[int | None, option(RUN, "--keep", "Delete all runs but so many, the newest.")]
KeepDryRun = Annotated[
    bool, option(RUN, "--dry-run", "With --keep: name what would be deleted, and its size.")
]
Json = Annotated[bool, option(OUTPUT, "--json", "One JSON object on stdout, nothing else there.")]
Check = Annotated[bool, option(OUTPUT, "--check", "Is docs/CLAIMS.md what would be written? 1: no.")]
Target = Annotated[
    Words, option(TARGETS, "--target", "What to compile for: host,tpu:v5p,cuda:h200,tpu:v5p:4x4x8.")
]
Strict = Annotated[
    bool, option(OUTPUT, "--strict", "Exit 3 also where a case crashed, timed out or is unsupported.")
]
Wait = Annotated[
    bool, option(LIMITS, "--wait", "Wait while another benchmark holds the device, instead of ending with 5.")
]
MaxSeq = Annotated[bool, option(TARGETS, "--max-seq", "Also the largest length that fits each target.")]
Noise = Annotated[
    bool, option("Noise", "--noise", "Measure this machine's noise, and which slowdown a gate can hold.")
]

SelfCheck = Annotated[
    bool, option("Noise", "--self-check", "Is a case as fast here as in a plain loop of a fresh process?")
]
NewFamily = Annotated[Text, typer.Argument(help="The family to implement.")]
NewName = Annotated[Text, typer.Argument(help="Name of the implementation, and of the file.")]
OwnFamily = Annotated[Text, option(PLACES, "--family", "Write a family of this name instead.")]
SourceFolder = Annotated[Path, option(PLACES, "--out", "Folder for the file.")]


@option_group
class StoredFlags:
    """Which cases of a stored run."""

    family: Family = None
    impl: Impl = None
    seq: Seq = None
    mode: Mode = None
    device: Device = None

    def part(self, suites: Sequence[str] | None) -> "Selection":
        """The part of a run to show: of these suites, or of all."""
        from harness.analysis.filter import Selection

        return Selection(
            tuple(suites or ()),
            split_words(self.family),
            split_words(self.impl),
            split_words(self.seq),
            split_words(self.mode),
            split_words(self.device),
        )


@option_group
class TableFlags:
    """What the tables show."""

    columns: Annotated[Words, option(OUTPUT, "--columns", "Columns to add or prefer: temp/base,95 %.")] = None

    notes: Notes = False

    def column_names(self) -> tuple[str, ...]:
        """The columns to add, or to prefer in a narrow terminal. UsageError for a name that is none."""
        from harness.report.tables.suite_columns import check_columns

        names = split_words(self.columns)
        if names:
            check_columns(names)
        return names


@option_group
class HostSelectionFlags:
    """Which cases to compile: those of the processor, because a target is not a device."""

    family: Family = None
    impl: Impl = None
    seq: Seq = None
    mode: Mode = None
    set_: Annotated[Words, option(SELECTION, "--set", "A workload field: rows=64,128.")] = None
    quick: Annotated[
        bool, option(SELECTION, "--quick", "The two smallest lengths, a tenth of the budget.")
    ] = False

    def apply(self, overrides: "Overrides") -> "Overrides":
        return replace(
            overrides,
            families=split_words(self.family),
            impls=split_words(self.impl),
            seqs=split_words(self.seq),
            modes=split_words(self.mode),
            devices=("cpu",),
            fields=split_assignments(self.set_),
            quick=self.quick,
        )


@option_group
class SelectionFlags(HostSelectionFlags):
    """Which cases, on which devices."""

    device: Device = None

    def apply(self, overrides: "Overrides") -> "Overrides":
        return replace(super().apply(overrides), devices=split_words(self.device))


@option_group
class CompileLimitFlags:
    """Limits on compiling a case."""

    timeout: Annotated[Text, option(LIMITS, "--timeout", "A case's own turn: 60s.")] = None
    memory: Annotated[Text, option(LIMITS, "--memory", "Limit of a group: 18GiB or 75%.")] = None
    threads: Annotated[Text, option(LIMITS, "--threads", "Cores a case may use.")] = None

    def apply(self, overrides: "Overrides") -> "Overrides":
        return put_settings(overrides, timeout=self.timeout, memory=self.memory, threads=self.threads)


@option_group
class LimitFlags(CompileLimitFlags):
    """Limits on a case, and the seed of its inputs."""

    seed: Annotated[Text, option(LIMITS, "--seed", "Seed of the inputs.")] = None

    def apply(self, overrides: "Overrides") -> "Overrides":
        return put_settings(super().apply(overrides), seed=self.seed)


@option_group
class RunFlags:
    """How long and how exactly to measure, and what to compare with."""

    baseline: Annotated[Text, option(SELECTION, "--baseline", "What speedups are relative to.")] = None
    budget: Annotated[Text, option(LIMITS, "--budget", "Sampling per case: 4s.")] = None
    precision: Annotated[
        Text, option(LIMITS, "--precision", "Half-width of an interval that is enough: 5%.")
    ] = None
    replicates: Annotated[
        int, option(LIMITS, "--replicates", "Fresh processes per group; 4 give intervals by process.")
    ] = 1
    resume: Annotated[bool, option(RUN, "--resume", "Continue the newest run of the same suites.")] = False
    dry_run: Annotated[
        bool, option(RUN, "--dry-run", "The suites, their cases and budgets; nothing is compiled or run.")
    ] = False
    figures: Annotated[
        bool, option(RUN, "--figures", "With --dry-run: every case, compiled: planned memory, likely time.")
    ] = False

    def apply(self, overrides: "Overrides") -> "Overrides":
        if self.figures and not self.dry_run:
            raise UsageError("--figures: goes with --dry-run; a run has the figures of every case anyway")
        sampled = put_settings(overrides, budget=self.budget, precision=self.precision)
        return replace(sampled, baseline=self.baseline, replicates=self.replicates)


@option_group
class CatalogFlags:
    """Which bench.yaml, and files with implementations."""

    plugin: Plugin = None
    config: Config = None

    def project(self) -> Project:
        return Project(self.config, given_plugins=split_words(self.plugin))


@option_group
class ResultsFlags:
    """Which bench.yaml, and where runs are stored."""

    config: Config = None
    results: Results = None

    def project(self) -> Project:
        return Project(self.config, self.results)


@option_group
class PlaceFlags(CatalogFlags):
    """Which bench.yaml, files with implementations, and where runs are stored."""

    results: Results = None

    def project(self) -> Project:
        return replace(super().project(), results_path=self.results)


@option_group
class GateFlags:
    """Which base, how to decide, and where the outcome goes."""

    against: Annotated[
        Text,
        option(GATE, "--against", "The base: git:REF, impl:NAME or py:INTERPRETER; none: the merge base."),
    ] = None
    cases: Annotated[Words, option(GATE, "--cases", "Only cases that match: 'mask/*seq=4096*'.")] = None
    everything: Annotated[bool, option(GATE, "--all", "Also cases whose code is the same.")] = False
    dry_run: Annotated[bool, option(GATE, "--dry-run", "Say what would be measured, and stop.")] = False
    delta: Annotated[Text, option(GATE, "--delta", "The slowdown to catch: 5%.")] = None
    max_pairs: Annotated[int, option(GATE, "--max-pairs", "Pairs of processes per case, at most.")] = 12
    budget: Annotated[str, option(GATE, "--budget", "Wall time of the gate: 300s.")] = "300s"
    explain: Annotated[Text, option(GATE, "--explain", "Show the evidence on this case.")] = None
    last: Annotated[bool, option(GATE, "--last", "Show the newest gate again; nothing is measured.")] = False
    self_check: Annotated[bool, option(GATE, "--self-check", "The working tree against itself.")] = False
    static: Annotated[bool, option(GATE, "--static", "Exact figures and contracts; no clock.")] = False
    update: Annotated[bool, option(GATE, "--update", "With --static: write results/baselines/.")] = False
    inconclusive: Annotated[str, option(GATE, "--inconclusive", "Not enough evidence: warn or fail.")] = (
        "fail"
    )
    junit: Annotated[Path | None, option(GATE, "--junit", "Write JUnit XML there.")] = None
    resume: Annotated[bool, option(GATE, "--resume", "Continue the interrupted gate of the same cases.")] = (
        False
    )
    wait: Annotated[bool, option(GATE, "--wait", "Wait while another benchmark holds a device.")] = False

    def options(self, suites: Sequence[str] | None, overrides: "Overrides") -> "GateOptions":
        """The options of a gate. UsageError where the flags contradict each other."""
        from harness.gate.options import GateOptions, parse_budget

        return GateOptions(
            suites=tuple(suites or ()),
            # also the budget of each case: one that fits into the gate is not skipped for its suite's budget
            overrides=put_settings(overrides, budget=self.budget),
            against=self.against,
            cases=tuple(self.cases or ()),
            everything=self.everything,
            dry_run=self.dry_run,
            delta=self.delta,
            max_pairs=self.max_pairs,
            budget_s=parse_budget(self.budget),
            explain=self.explain,
            last=self.last,
            self_check=self.self_check,
            static=self.static,
            update=self.update,
            inconclusive=self.inconclusive,
            junit=self.junit,
            resume=self.resume,
            wait=self.wait,
        )
