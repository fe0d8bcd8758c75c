"""A gate's cases against the committed file of exact figures."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from harness.catalog.known_frameworks import traits_of
from harness.core.static_figures import EXACT_FIGURES
from harness.gate.outcome import IMPROVED, NEW, REGRESSED, UNCHANGED
from harness.gate.static.baseline import TRITON, UPDATE, Baseline
from harness.gate.static.diff import STORED, StaticFigures, StaticVerdict, compare
from harness.gate.static.exact_kernel import ExactKernel

ANYWHERE = ("argument_bytes", "output_bytes")  # figures that do not depend on the processor
OUTDATED = f"update the file: {UPDATE}"


def stored(case: StaticFigures) -> StaticFigures:
    """What the file has of a case that is ok."""
    entry: dict[str, Any] = {name: getattr(case, name) for name in STORED}
    entry["figures"] = {name: case.figures.get(name) for name in EXACT_FIGURES}
    entry["kernels"] = {
        target: tuple(ExactKernel(kernel.label, kernel.figures) for kernel in kernels)
        for target, kernels in case.kernels.items()
    }
    return StaticFigures(**entry)


def compare_with_file(
    baseline: Baseline,
    candidates: Mapping[str, StaticFigures],
    accept: Callable[[str, str], str | None],
    here: Baseline,
) -> dict[str, StaticVerdict]:
    """The verdict on every case by its id, with the file as base, `here` being where they were compiled.

    Other cases of the file are ignored. A difference in either direction is reported. On another processor,
    XLA may plan another program, so that of jax only arguments, outputs and the contract are compared;
    traces of torch are the same. Kernels are compared unless another version has compiled them. Of a
    framework that is missing here no case is compared.
    """
    same_processor, missing = baseline.planned_alike(here), {TRITON} - here.versions.keys()
    verdicts: dict[str, StaticVerdict] = {}
    for case, candidate in candidates.items():
        base = baseline.cases.get(case)
        if base and candidate.framework in missing and candidate.state == "unsupported":
            verdicts[case] = StaticVerdict(None, f"not compared with the file: {candidate.reason}")
            continue
        others = baseline.other_compilers(here, [case]) if base else []
        if base and others:
            base, candidate = (replace(side, kernels={}) for side in (base, candidate))  # noqa: PLW2901
        elsewhere = traits_of(candidate.framework).compiles_calls and not same_processor
        if base and elsewhere:
            base, candidate = _portable_figures(base), _portable_figures(candidate)  # noqa: PLW2901
        finding = compare(base, candidate, lambda figure, case=case: accept(case, figure))
        verdicts[case] = _explain_base(finding, base, candidate, baseline if elsewhere else None)
        for name in others:
            note = f"the file's kernels are by {name} {baseline.versions.get(name)}: they are not compared"
            verdicts[case] = verdicts[case]._replace(notes=(*verdicts[case].notes, note))
    return verdicts


def _portable_figures(side: StaticFigures) -> StaticFigures:
    figures = {name: side.figures.get(name) for name in ANYWHERE}
    return replace(side, figures=figures, program=None, custom_calls=())


def _explain_base(
    finding: StaticVerdict, base: StaticFigures | None, candidate: StaticFigures, elsewhere: Baseline | None
) -> StaticVerdict:
    notes = list(finding.notes)
    if base and elsewhere:
        notes.append(
            f"the file was written on another processor ({elsewhere.processor.name}): "
            "of jax, arguments, outputs and the contract are compared"
        )
    if finding.verdict == NEW:
        return StaticVerdict(NEW, "the file has no such case", (*notes, OUTDATED))
    if base and finding.verdict in {IMPROVED, UNCHANGED} and stored(base) != stored(candidate):
        notes.append(OUTDATED)
    against = "against the file: " if finding.verdict in {REGRESSED, IMPROVED} else ""
    return StaticVerdict(finding.verdict, f"{against}{finding.reason}", tuple(notes))
