"""A gate's cases against the committed file of exact figures."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from harness.catalog.known_frameworks import traits_of
from harness.core.static_figures import EXACT_FIGURES
from harness.gate.outcome import IMPROVED, NEW, REGRESSED, UNCHANGED
from harness.gate.static.baseline import UPDATE, Baseline
from harness.gate.static.diff import STORED, StaticFigures, StaticVerdict, compare
from harness.gate.static.exact_kernel import ExactKernel

ANYWHERE = ("argument_bytes", "output_bytes")  # figures that do not depend on the processor
OUTDATED = f"update the file: {UPDATE}"


def stored(case: StaticFigures) -> StaticFigures:
    """What the file has of a case that is ok; no kernel by a compiler whose version is not in the file."""
    entry: dict[str, Any] = {name: getattr(case, name) for name in STORED}
    entry["figures"] = {name: case.figures.get(name) for name in EXACT_FIGURES}
    entry["kernels"] = {
        target: tuple(ExactKernel(kernel.label, kernel.figures) for kernel in kernels)
        for target, kernels in case.kernels.items()
        if target.partition(":")[0] == traits_of(case.framework).kernels_kept_for
    }
    return StaticFigures(**entry)


def compare_with_file(
    baseline: Baseline,
    here: Baseline,
    candidates: Mapping[str, StaticFigures],
    accept: Callable[[str, str], str | None],
) -> dict[str, StaticVerdict]:
    """The verdict on every case by its id, with the file as base, `here` being where they were compiled.

    A difference in either direction is reported. `here` is a file without cases for this machine. On another
    processor a compiler may plan another program, so that of what it compiles only arguments, outputs and the
    contract are compared; of what a trace plans, all but temporaries. Kernels are compared unless another
    version has compiled them. Of frameworks whose compiler of kernels is missing here no refused case is
    compared.
    """
    verdicts: dict[str, StaticVerdict] = {}
    for case, candidate in candidates.items():
        base = baseline.cases.get(case)
        traits = traits_of(candidate.framework)
        compiler = traits.kernel_compiler
        if base and compiler and compiler not in here.versions and candidate.state == "unsupported":
            verdicts[case] = StaticVerdict(None, f"not compared with the file: {candidate.reason}")
            continue
        other_compiler = bool(base and base.kernels) and not baseline.kernels_alike(here, candidate.framework)
        if base and other_compiler:
            base, candidate = (replace(side, kernels={}) for side in (base, candidate))  # noqa: PLW2901
        elsewhere = traits.planner != "framework" and not baseline.planned_alike(here)
        if base and elsewhere:
            portable = _compiled_anywhere if traits.compiles_calls else _traced_anywhere
            base, candidate = portable(base), portable(candidate)  # noqa: PLW2901
        finding = compare(base, candidate, lambda figure, case=case: accept(case, figure))
        verdicts[case] = _explain_base(finding, base, candidate, baseline if elsewhere else None)
        if other_compiler:
            version = f"{compiler} {baseline.versions.get(compiler)}"
            note = f"the file's kernels are by {version}: they are not compared"
            verdicts[case] = verdicts[case]._replace(notes=(*verdicts[case].notes, note))
    return verdicts


def _traced_anywhere(side: StaticFigures) -> StaticFigures:
    """Without what operators hold inside themselves: it depends on threads and on the processor."""
    return replace(side, figures={**side.figures, "temp_bytes": None})


def _compiled_anywhere(side: StaticFigures) -> StaticFigures:
    figures = {name: side.figures.get(name) for name in ANYWHERE}
    return replace(side, figures=figures, program=None, custom_calls=())


def _explain_base(
    finding: StaticVerdict, base: StaticFigures | None, candidate: StaticFigures, elsewhere: Baseline | None
) -> StaticVerdict:
    notes = list(finding.notes)
    if base and elsewhere:
        compiled = traits_of(candidate.framework).compiles_calls
        what = "arguments, outputs and the contract are" if compiled else "all but temporaries is"
        notes.append(
            f"the file was written on another processor ({elsewhere.processor.name}): "
            f"of {candidate.framework}, {what} compared"
        )
    if finding.verdict == NEW:
        return StaticVerdict(NEW, "the file has no such case", (*notes, OUTDATED))
    if base and finding.verdict in {IMPROVED, UNCHANGED} and stored(base) != stored(candidate):
        notes.append(OUTDATED)
    against = "against the file: " if finding.verdict in {REGRESSED, IMPROVED} else ""
    return StaticVerdict(finding.verdict, f"{against}{finding.reason}", tuple(notes))
