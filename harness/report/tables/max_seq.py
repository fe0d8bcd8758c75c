"""The longest length that fits a target, found by compiling lengths that close in on it.

For a model's calls this is the longest context that fits a device by the planned memory.
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

CAPTION = (
    "A model's lengths are tokens of its context. Only the planned memory of one call counts (arguments, "
    "outputs, temporaries), without weights and other layers' caches. all: every position of the model "
    "fits; ≥: the longest length that was compiled fits."
)


class LongestFit(NamedTuple):
    """The longest length of one implementation on a target (`--max-seq`), for a model in context tokens."""

    suite: SuiteResults
    model: StepModel | None
    implementation: str
    panel: str
    target: str
    length: int | None  # None if no length fits, or none is known
    beyond: int | None  # the shortest length found not to fit
    reason: str | None

    @property
    def of(self) -> str:
        return self.model.label if self.model else self.suite.name

    @property
    def reach(self) -> int:
        """The length, limited to the model's positions."""
        length, positions = self.length or 0, self.model.longest if self.model else None
        return min(length, positions or length)

    @property
    def whole(self) -> bool:
        """Whether the model's full context fits."""
        return bool(self.model and self.reach and self.reach == self.model.longest)

    @property
    def cell(self) -> Cell:
        """`26Ki, not 28Ki`; `≥ 1Mi` if every compiled length fits, `< 1Ki` if none does."""
        if self.whole:
            return Cell(f"all {format_count(self.reach)}")
        why = sentences(self.reason)
        if self.length is None:
            return Cell(ABSENT if self.beyond is None else f"< {format_count(self.beyond)}", why)
        if self.beyond is None:
            return Cell(f"≥ {format_count(self.length)}", why)
        return Cell(f"{format_count(self.length)}, not {format_count(self.beyond)}", why)


def fits_of(suites: Sequence[SuiteResults], info: Mapping[str, Any]) -> list[LongestFit]:
    """The longest lengths of the suites' implementations, as run.json has them."""
    return [fit for suite in suites for fit in _fits(suite, info.get("largest") or ())]


def _fits(suite: SuiteResults, largest: Sequence[Mapping[str, Any]]) -> Iterator[LongestFit]:
    for model in suite.models or (None,):
        cases = [own for case, own in suite.by_case.items() if model is None or case in model.cases]
        panels, tokens = {(own.label, own.panel) for own in cases}, model.tokens if model else 1
        for entry in largest:
            place = entry["implementation"], entry["panel"]
            # An earlier version also tried lengths on a device.
            if entry["suite"] == suite.name and place in panels and "trials" not in entry:
                length, beyond = (each and each * tokens for each in (entry["seq"], entry["beyond"]))
                yield LongestFit(suite, model, *place, entry["target"], length, beyond, entry["reason"])


def longest_table(fits: Sequence[LongestFit]) -> TableData:
    """A row per model or suite, implementation and workload, a column per target."""
    targets = list(dict.fromkeys(fit.target for fit in fits))
    by_row = grouped(fits, lambda fit: (fit.of, fit.suite.family, fit.implementation, fit.panel))
    several = len({row[:3] for row in by_row}) < len(by_row)
    rows: list[tuple[Cell, ...]] = []
    for (of, family, implementation, panel), own in by_row.items():
        at = {fit.target: fit.cell for fit in own}
        name = name_cell(implementation, own[0].suite.bounds)
        name = name._replace(text=f"{family}/{short_label(implementation)}")
        cells = (at.get(target, Cell("")) for target in targets)
        rows.append((Cell(of), name, *((Cell(panel),) if several else ()), *cells))
    return TableData(
        title="longest length that fits",
        columns=(
            Column("", right=False, folds=True),
            Column("implementation", right=False, folds=True),
            *((Column("workload", right=False, folds=True),) if several else ()),
            *(Column(target, rank=rank) for rank, target in enumerate(targets)),
        ),
        rows=tuple(rows),
        caption=CAPTION,
    )


def longest_lines(fits: Sequence[LongestFit]) -> list[str]:
    """Per target the longest lengths that fit; per model the longest context, and what limits it."""
    of_models = grouped((fit for fit in fits if fit.model), lambda fit: (fit.of, fit.target))
    lines = (
        f"{of} on {target}: {'; '.join(_context_sentences(own))}" for (of, target), own in of_models.items()
    )
    return [*_suite_lines([fit for fit in fits if not fit.model]), *lines]


def _suite_lines(fits: Sequence[LongestFit]) -> Iterator[str]:
    """`mask on host, longest length that fits: flex: ≥ 8Ki; dense, plain: 2Ki, not 3Ki.`"""
    for (panel, target), own in grouped(fits, lambda fit: (fit.panel, fit.target)).items():
        known = sorted((fit for fit in own if fit.length), key=lambda fit: -fit.reach)
        names = collected((fit.cell.text, short_label(fit.implementation)) for fit in known)
        lengths = "; ".join(f"{', '.join(of)}: {length}" for length, of in names.items())
        if lengths:
            of = panel if len({fit.panel for fit in fits}) > 1 else own[0].of
            yield f"{of} on {target}, longest length that fits: {lengths}."


def _context_sentences(fits: Sequence[LongestFit]) -> list[str]:
    """The longest context with the best implementation of each family, and the family that limits it."""
    best = [
        max(own, key=lambda fit: fit.reach) for own in grouped(fits, lambda fit: fit.suite.family).values()
    ]
    known = [fit for fit in best if fit.length is not None]
    unknown = [f"unknown for {fit.suite.family}" for fit in best if fit.length is None]
    if not known:
        return ["no context is known to fit" + next((f": {fit.reason}" for fit in best if fit.reason), "")]
    least = min(known, key=lambda fit: fit.reach)
    count = format_count(least.reach)
    if least.whole:
        return [f"its full context of {count} tokens fits", *unknown]
    best_of = f"{short_label(least.implementation)}, the best of {least.suite.family}"
    ends = least.beyond is not None
    sentence = f"a context of {'' if ends else 'at least '}{count} tokens fits, one call at a time"
    return [sentence, f"{'more does not fit' if ends else 'no more was compiled for'} {best_of}", *unknown]
