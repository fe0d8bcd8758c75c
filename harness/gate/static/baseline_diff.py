"""Comparison of a gate's cases with the committed baseline file."""

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


def file_entry(case: StaticFigures) -> StaticFigures:
    """A case as the file keeps it: without kernels of compilers whose version it does not record."""
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
    """The verdict on every case by its id, with the file as base.

    `here` is a file without cases for the machine and compilers of the candidates. Where the processor
    differs, a compiler may plan another program: then of compiled programs only arguments, outputs and the
    contract are compared, and of traced ones everything but temporaries. Kernels are compared only where
    the same compiler version made them. An unsupported case is not compared where the framework's kernel
    compiler is missing on this machine.
    """
    verdicts: dict[str, StaticVerdict] = {}
    for case, candidate in candidates.items():
        base = baseline.cases.get(case)
        traits = traits_of(candidate.framework)
        compiler = traits.kernel_compiler
        if base and compiler and compiler not in here.versions and candidate.state == "unsupported":
            verdicts[case] = StaticVerdict(None, f"not compared with the file: {candidate.reason}")
            continue
        other_compiler = bool(base and base.kernels) and not baseline.same_kernel_compiler(
            here, candidate.framework
        )
        if base and other_compiler:
            base, candidate = (replace(side, kernels={}) for side in (base, candidate))  # noqa: PLW2901
        elsewhere = traits.planner != "framework" and not baseline.same_host(here)
        if base and elsewhere:
            portable = _portable_compiled if traits.compiles_calls else _portable_traced
            base, candidate = portable(base), portable(candidate)  # noqa: PLW2901
        finding = compare(base, candidate, lambda figure, case=case: accept(case, figure))
        verdicts[case] = _explain_base(finding, base, candidate, baseline if elsewhere else None)
        if other_compiler:
            version = f"{compiler} {baseline.versions.get(compiler)}"
            note = f"the file's kernels are by {version}: they are not compared"
            verdicts[case] = verdicts[case]._replace(notes=(*verdicts[case].notes, note))
    return verdicts


def _portable_traced(side: StaticFigures) -> StaticFigures:
    """Without temporaries: operators' scratch memory depends on the threads and the processor."""
    return replace(side, figures={**side.figures, "temp_bytes": None})


def _portable_compiled(side: StaticFigures) -> StaticFigures:
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
    if base and finding.verdict in {IMPROVED, UNCHANGED} and file_entry(base) != file_entry(candidate):
        notes.append(OUTDATED)
    against = "against the file: " if finding.verdict in {REGRESSED, IMPROVED} else ""
    return StaticVerdict(finding.verdict, f"{against}{finding.reason}", tuple(notes))
