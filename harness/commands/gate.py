"""`gate`: run a gate or read the latest one, then print it."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace

from harness.commands.output import console, print_json
from harness.commands.streams import print_line
from harness.core.errors import SideError
from harness.gate.options import GateOptions
from harness.gate.outcome import STATIC, TIME, GateOutcome
from harness.gate.plan import limit_threads, plan_of, schedule_of, single_match
from harness.gate.timed.decision import CaseEvidence
from harness.report.console import TextConsole
from harness.report.progress import Progress
from harness.sweep.project import Project

Evidence = Mapping[str, CaseEvidence]


def run_gate(project: Project, options: GateOptions, *, json: bool) -> int:
    """Run the gate on the working tree, and return the exit code."""
    from harness.gate.output import refuse_file

    if options.junit is not None:
        refuse_file(options.junit, "--junit")
    if options.last:
        from harness.gate.timed.run import newest_gate

        last = newest_gate(project.results)
        return print_outcome(last.outcome, last.evidence, options, json=json)
    options = limit_threads(options, project)
    if options.dry_run:
        return print_gate_plan(project, options, json=json)
    if options.explain:
        # Refuse a pattern that matches no case, or several, before anything is measured.
        single_match(options.explain, [case.id for case in schedule_of(project, options)[1]])
    with closing(Progress(0, TextConsole(stderr=True))) as progress:
        try:
            outcome, evidence = decide(project, options, progress)
        except SideError as error:
            kind, base = STATIC if options.static else TIME, options.against or "its base"
            outcome, evidence = GateOutcome(kind, base, (), broken=str(error)), {}
    return print_outcome(outcome, evidence, options, json=json)


def print_gate_plan(project: Project, options: GateOptions, *, json: bool) -> int:
    """Print what the gate would measure, and how long it takes at most. Returns 0."""
    from harness.gate.output import plan_data, plan_lines

    with plan_of(project, options) as gate_plan:
        data = plan_data(gate_plan, options)
    if json:
        print_json(data)
    else:
        print_line("\n".join(plan_lines(data)))
    return 0


def decide(project: Project, options: GateOptions, progress: Progress) -> tuple[GateOutcome, Evidence]:
    """The outcome of a timed or a static gate, and the evidence on the cases that were timed."""
    if options.static:
        from harness.gate.static.run import run_static

        return run_static(project, options, progress), {}
    from harness.gate.timed.run import run_timed

    return run_timed(project, options, progress)


def print_outcome(outcome: GateOutcome, evidence: Evidence, options: GateOptions, *, json: bool) -> int:
    """Print the outcome, write it to the files in the options, and return the exit code."""
    from harness.gate.output import explanation_of, report_outcome

    outcome = replace(outcome, inconclusive=options.inconclusive)
    explanation = None
    if options.explain and not outcome.broken:
        explanation = explanation_of(outcome, evidence, options.explain)
    data = report_outcome(outcome, console(), json=json, junit_file=options.junit, explanation=explanation)
    if data is not None:
        print_json(data)
    return outcome.exit_code
