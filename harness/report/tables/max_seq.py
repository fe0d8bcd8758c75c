"""The largest length that fits a target, by compiling ever closer lengths.

Of a model's calls it is the longest context that fits a device, by what compilers plan for a step.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from harness.analysis.results import StepModel
from harness.analysis.suite_results import SuiteResults
from harness.core.grouped import collected, grouped
from harness.core.units import format_count
from harness.report.format import ABSENT, short_label
from harness.report.tables.cells import Cell, name_cell, sentences
from harness.report.tables.table_data import Column, TableData

_NAMES = (Column("", right=False, folds=True), Column("workload", right=False, folds=True))


Entries = Sequence[Mapping[str, Any]]
CONTEXT_CAPTION = (
    "In tokens of the model's context. Planned is one call: its arguments, outputs and temporaries; neither "
    "weights nor other layers' caches are counted. all: every position that the model has; ≥: the longest "
    "that was compiled fits."
)


def planned_lengths(info: Mapping[str, Any]) -> Entries:
    """The largest lengths in run.json, without those that an earlier version tried on a device."""
    return [entry for entry in info.get("largest") or () if "trials" not in entry]


def largest_table(suite: str, entries: Entries, bounds: Mapping[str, str]) -> TableData:
    """`entries` as in run.json; rows are implementations (and panels, if many), columns targets.

    `bounds` are those that authors give, by implementation. Without rows where none was looked for.
    """
    found = [entry for entry in entries if entry["suite"] == suite]
    targets = list(dict.fromkeys(entry["target"] for entry in found))
    by_case = grouped(found, lambda entry: (entry["panel"], entry["implementation"]))
    names = _name_columns(found)
    rows: list[tuple[Cell, ...]] = []
    for own in by_case.values():
        at = {entry["target"]: entry for entry in own}
        rows.append((*_name_cells(own[0], bounds)[: len(names)], *(length_cell(at.get(t)) for t in targets)))
    return TableData(
        title=f"{suite}: largest length that fits",
        columns=(*names, *(Column(t, rank=i, right=False) for i, t in enumerate(targets))),
        rows=tuple(rows),
    )


def _name_columns(entries: Entries) -> Sequence[Column]:
    """A single panel has no column: it stands in the title of the suite's own table."""
    return _NAMES if len({entry["panel"] for entry in entries}) > 1 else _NAMES[:1]


def _name_cells(entry: Mapping[str, Any], bounds: Mapping[str, str]) -> tuple[Cell, Cell]:
    return name_cell(entry["implementation"], bounds), Cell(entry["panel"])


def length_cell(entry: Mapping[str, Any] | None) -> Cell:
    """`26Ki, not 28Ki`; `≥ 1Mi` where every length tried fits, `< 1Ki` where none does."""
    if entry is None:
        return Cell("")
    fits, beyond, why = entry["seq"], entry["beyond"], sentences(entry["reason"])
    if fits is None and beyond is None:
        return Cell(ABSENT, why)
    if fits is None:
        return Cell(f"< {format_count(beyond)}", why)
    if beyond is None:
        return Cell(f"≥ {format_count(fits)}", why)
    return Cell(f"{format_count(fits)}, not {format_count(beyond)}", why)


def longest_lines(panel: SuiteResults, largest: Entries) -> list[str]:
    """Per target, the longest lengths whose plans fit, with their implementations, longest first."""
    lines: list[str] = []
    for target, entries in _by_target(panel, largest).items():
        known = sorted((entry for entry in entries if entry["seq"]), key=lambda entry: -entry["seq"])
        names = collected((length_cell(entry).text, short_label(entry["implementation"])) for entry in known)
        if names:
            lengths = "; ".join(f"{', '.join(of)}: {length}" for length, of in names.items())
            lines.append(f"{target}: the longest length whose plan fits: {lengths}.")
    return lines


def _by_target(panel: SuiteResults, largest: Entries) -> dict[str, list[Mapping[str, Any]]]:
    """Target → the lengths found by compiling a panel's implementations."""
    own = {(case.label, case.panel) for case in panel.by_case.values()}
    own_entries = [
        entry
        for entry in largest
        if entry["suite"] == panel.name and (entry["implementation"], entry["panel"]) in own
    ]
    by_target = grouped(own_entries, lambda entry: entry["target"])
    return {target: by_target[target] for target in panel.compiled_targets if target in by_target}


class _Fit(NamedTuple):
    """The longest length of one implementation on a target (`--max-seq`), in tokens of a model's context."""

    model: StepModel
    family: str
    implementation: str
    panel: str
    target: str
    tokens: int | None  # None where no length fits, or none is known
    beyond: int | None  # the shortest that was found not to fit
    reason: str | None

    @property
    def whole(self) -> bool:
        """Whether every context that the model has positions for fits."""
        return bool(self.tokens and self.model.longest and self.tokens >= self.model.longest)

    @property
    def text(self) -> str:
        if self.tokens is None:
            return ABSENT if self.beyond is None else f"< {format_count(self.beyond)}"
        if self.whole and self.model.longest:
            return f"all {format_count(self.model.longest)}"
        return f"≥ {format_count(self.tokens)}" if self.beyond is None else format_count(self.tokens)


def longest_context_table(suites: Sequence[SuiteResults], largest: Sequence[Mapping[str, Any]]) -> TableData:
    """A row per model, family and implementation; `largest` as run.json has it. No row without models.

    Where a model asks for several workloads of one implementation, as forward and backward, a row per each.
    """
    fits = list(_fits(suites, largest))
    targets = list(dict.fromkeys(fit.target for fit in fits))
    bounds = {label: bound for suite in suites for label, bound in suite.bounds.items()}
    by_row = grouped(fits, lambda fit: (fit.model.label, fit.family, fit.implementation, fit.panel))
    several = len({row[:3] for row in by_row}) < len(by_row)
    rows: list[tuple[Cell, ...]] = []
    for (model, family, implementation, panel), own in by_row.items():
        at = {fit.target: fit for fit in own}
        name = name_cell(implementation, bounds)._replace(text=f"{family}/{short_label(implementation)}")
        workload = (Cell(panel),) if several else ()
        rows.append((Cell(model), name, *workload, *(_cell(at.get(target)) for target in targets)))
    return TableData(
        title="longest context that fits",
        columns=(
            Column("model", right=False, folds=True),
            Column("implementation", right=False, folds=True),
            *((Column("workload", right=False, folds=True),) if several else ()),
            *(Column(target, rank=rank) for rank, target in enumerate(targets)),
        ),
        rows=tuple(rows),
        caption=CONTEXT_CAPTION,
    )


def longest_context_lines(suites: Sequence[SuiteResults], largest: Sequence[Mapping[str, Any]]) -> list[str]:
    """Per model and device, the longest context with the best of every family, and which family limits it."""
    by_place = grouped(_fits(suites, largest), lambda fit: (fit.model.label, fit.target))
    lines: list[str] = []
    for (model, target), fits in by_place.items():
        best = [max(own, key=_reach) for own in grouped(fits, lambda fit: fit.family).values()]
        known = [fit for fit in best if fit.tokens is not None]
        unknown = [f"of {fit.family} none is known" for fit in best if fit.tokens is None]
        if not known:
            why = next((f": {fit.reason}" for fit in best if fit.reason), "")
            lines.append(f"{model} on {target}: no context is known to fit{why}")
            continue
        least = min(known, key=_reach)
        if least.whole:
            sentence = f"every context that it has positions for fits, up to {format_count(_reach(least))}"
        else:
            best_of = f"{short_label(least.implementation)}, which goes furthest of {least.family}"
            ends = least.beyond is not None
            why = f"more does not fit {best_of}" if ends else f"no more was compiled of {best_of}"
            at_least = "" if ends else "at least "
            count = format_count(least.tokens or 0)
            sentence = f"a context of {at_least}{count} tokens fits, one call at a time; {why}"
        lines.append("; ".join((f"{model} on {target}: {sentence}", *unknown)))
    return lines


def _reach(fit: _Fit) -> int:
    return min(fit.tokens or 0, fit.model.longest or fit.tokens or 0)


def _fits(suites: Sequence[SuiteResults], largest: Sequence[Mapping[str, Any]]) -> Iterator[_Fit]:
    for suite in suites:
        entries = [entry for entry in largest if entry["suite"] == suite.name]
        for model in suite.models:
            panels = {(own.label, own.panel) for case, own in suite.by_case.items() if case in model.cases}
            for entry in entries:
                if (entry["implementation"], entry["panel"]) in panels:
                    tokens, beyond = (
                        each and each * model.tokens for each in (entry["seq"], entry["beyond"])
                    )
                    yield _Fit(
                        *(model, suite.family, entry["implementation"], entry["panel"], entry["target"]),
                        *(tokens, beyond, entry["reason"]),
                    )


def _cell(fit: _Fit | None) -> Cell:
    return Cell("") if fit is None else Cell(fit.text, sentences(None if fit.whole else fit.reason))
