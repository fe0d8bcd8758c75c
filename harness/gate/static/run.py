"""`gate --static`: static figures and contracts of both sides, compared exactly; no clock."""

from collections.abc import Mapping
from contextlib import ExitStack

from harness.gate.options import GateOptions
from harness.gate.outcome import NEW, STATIC, CaseVerdict, GateOutcome
from harness.gate.plan import GatePlan, unmeasured_verdicts
from harness.gate.planning import plan_of
from harness.gate.report.progress import GateProgress
from harness.gate.static.compile_sides import CompiledSide, compile_sides, missing_compilers
from harness.gate.static.diff import StaticFigures, StaticVerdict, compare
from harness.gate.timed.paired_case import BASE, CANDIDATE
from harness.run.machine.lock import device_lock
from harness.sweep.project import Project


def run_static(project: Project, options: GateOptions, progress: GateProgress) -> GateOutcome:
    """Compile both sides, and compare the figures and the contract of every case."""
    with ExitStack() as stack:
        if options.wait:  # hold the processor's lock while this gate compiles, as a benchmark does
            stack.enter_context(device_lock("cpu", wait=progress.message))
        plan = stack.enter_context(plan_of(project, options))
        groups = plan.groups()
        progress.total = len(groups)
        compiled = compile_sides(groups, plan.opponents, plan.sides, progress) if groups else {}
    verdicts: dict[str, StaticVerdict] = {}
    frameworks: set[str] = set()
    for case, sides in compiled.items():
        base, candidate = sides.get(BASE), _static_figures(sides[CANDIDATE])
        frameworks.add(candidate.framework)
        verdicts[case] = compare(
            _static_figures(base) if base else None,
            candidate,
            lambda figure, case=case: plan.accept(case, figure),
        )
    cases, left_out = _verdicts(plan, verdicts)
    return GateOutcome(
        kind=STATIC,
        base=plan.base,
        cases=cases,
        left_out={**plan.left_out, **left_out},
        notes=(*plan.notes, *missing_compilers(frameworks)),
        slowdown=plan.deltas,
    )


def _static_figures(compiled: CompiledSide) -> StaticFigures:
    state = compiled.state
    return StaticFigures.of(
        state.plan.static,
        state.correctness,
        kernels=compiled.kernels,
        owners=compiled.owners,
        framework=state.info.framework,
        status=state.status or "crashed",
        reason=state.reason,
        expected=state.plan.expected,
        compiles=state.call.recompiled,
    )


def _verdicts(
    plan: GatePlan, verdicts: Mapping[str, StaticVerdict]
) -> tuple[tuple[CaseVerdict, ...], dict[str, str]]:
    cases: list[CaseVerdict] = []
    left_out: dict[str, str] = {}
    for case in plan.opponents:
        finding = verdicts.get(case.id)
        if finding is None or finding.verdict is None:
            left_out[case.id] = finding.reason if finding else "its group did not run"
            continue
        reason = plan.new.get(case.id, finding.reason) if finding.verdict == NEW else finding.reason
        cases.append(plan.verdict_on(case, finding.verdict, reason, finding.notes))
    return (*cases, *unmeasured_verdicts(plan)), left_out
