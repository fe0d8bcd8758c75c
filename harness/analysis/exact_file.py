"""A gate's cases against the committed file of exact figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from harness.analysis.exact import Exact, Finding, compare
from harness.spec.figures import EXACT_FIGURES
from harness.spec.gate import IMPROVED, NEW, REGRESSED, UNCHANGED
from harness.store.baselines import UPDATE, Baseline, Planned

ANYWHERE = ("argument_bytes", "output_bytes")  # what a compiler for another processor cannot plan otherwise
OUTDATED = f"update the file: {UPDATE}"


def planned_of(candidate: Exact) -> Planned:
    """What the file keeps of a case that is ok."""
    return Planned(
        framework=candidate.framework,
        figures={name: candidate.figures.get(name) for name in EXACT_FIGURES},
        flops_source=candidate.flops_source,
        program=candidate.program,
        custom_calls=candidate.custom_calls,
        contract=candidate.contract,
        passed=candidate.passed,
    )


def exact_of(planned: Planned) -> Exact:
    return Exact(
        figures=planned.figures,
        program=planned.program,
        custom_calls=planned.custom_calls,
        flops_source=planned.flops_source,
        contract=planned.contract,
        passed=planned.passed,
        framework=planned.framework,
    )


def compare_with_file(
    baseline: Baseline,
    candidates: Mapping[str, Exact],
    accept: Callable[[str, str], str | None],
    *,
    same_processor: bool = True,
) -> dict[str, Finding]:
    """The finding on every case by its id, the file as base. What it keeps of other cases is ignored.

    A difference in either direction is told. On another processor, XLA may plan another program, so
    that of jax only arguments, outputs and the contract are compared; traces of torch are the same.
    """
    found: dict[str, Finding] = {}
    for case, candidate in candidates.items():
        planned = baseline.cases.get(case)
        base = exact_of(planned) if planned else None
        elsewhere = candidate.framework == "jax" and not same_processor
        if base and elsewhere:
            base, candidate = _anywhere(base), _anywhere(candidate)  # noqa: PLW2901 - the part that is compared
        finding = compare(base, candidate, lambda figure, case=case: accept(case, figure))
        found[case] = _told(finding, base, candidate, baseline if elsewhere else None)
    return found


def _anywhere(side: Exact) -> Exact:
    figures = {name: side.figures.get(name) for name in ANYWHERE}
    return replace(side, figures=figures, program=None, custom_calls=())


def _told(finding: Finding, base: Exact | None, candidate: Exact, elsewhere: Baseline | None) -> Finding:
    notes = list(finding.notes)
    if base and elsewhere:
        notes.append(
            f"the file was written on another processor ({elsewhere.processor.name}): "
            "of jax, arguments, outputs and the contract are compared"
        )
    if finding.verdict == NEW:
        return Finding(NEW, "the file has no such case", (*notes, OUTDATED))
    if base and finding.verdict in {IMPROVED, UNCHANGED} and planned_of(base) != planned_of(candidate):
        notes.append(OUTDATED)
    against = "against the file: " if finding.verdict in {REGRESSED, IMPROVED} else ""
    return Finding(finding.verdict, f"{against}{finding.reason}", tuple(notes))
