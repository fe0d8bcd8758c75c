"""The evidence that claims need, and gathering it: compiling cases, costs, running contracts and checks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.catalog import accelerators
from harness.catalog.catalog import Catalog
from harness.catalog.known_frameworks import traits_of
from harness.claims.expression import (
    ANALYTIC,
    ARGUMENTS,
    COLUMNS,
    COMPILED,
    DEVICE,
    EXPONENT,
    FACT,
    JUDGED,
    KEYWORDS,
    MATHS,
    TRACED,
    Expression,
    FunctionCall,
    Value,
    parse,
    require_arguments,
)
from harness.claims.model import Claim, ClaimEvidence, Figure, Judged, Need
from harness.core.case import Case
from harness.core.errors import UsageError, nearest
from harness.core.record import Cost
from harness.core.workload import Value as Field
from harness.core.workload import shown_fields
from harness.sweep.axes import missing_fields, swept, variant
from harness.sweep.axes import parse as parse_field
from harness.sweep.schedule import schedule_cases
from harness.sweep.written import Scalar, at

if TYPE_CHECKING:
    from harness.report.progress import Progress
    from harness.run.compile import CompileRequest, CompileResult
    from harness.sweep.project import Project
    from harness.sweep.schedule import Schedule

REPORTED = 10  # programs compiled between two lines of progress


@dataclass(frozen=True)
class Workplace:
    """The surroundings of gathering evidence: settings, the folder of stored figures, progress output.

    `say` prints a line before anything slow; `progress` makes the display for the run of contracts.
    """

    project: Project
    progress: Callable[[Schedule], Progress]
    say: Callable[[str], None]


def gather(place: Workplace, wanted: Sequence[Need]) -> ClaimEvidence:
    """The evidence for all needs."""
    compiled, costed, judged = (
        [need for need in wanted if need.kind == kind] for kind in (Need.COMPILE, Need.COST, Need.JUDGE)
    )
    return ClaimEvidence(
        compiled=_compile(place, compiled),
        costs=_costs(place.project.catalog, costed) if costed else {},
        judged=_verify(place, judged) if judged else {},
    )


def _compile(place: Workplace, wanted: Sequence[Need]) -> dict[Need, CompileResult]:
    if not wanted:
        return {}
    from harness.run import compile as compiling

    requests = {need: compiling.CompileRequest(need.case, need.target) for need in wanted}
    targets = dict.fromkeys(need.target for need in wanted)
    place.say(f"{len(requests)} programs for {', '.join(targets)}")
    start, finished, compiled = time.monotonic(), 0, 0

    def report(_: CompileRequest, answer: CompileResult) -> None:
        nonlocal finished, compiled
        finished, compiled = finished + 1, compiled + (not answer.cached)
        if compiled and compiled % REPORTED == 0:
            left_s = (time.monotonic() - start) / finished * (len(requests) - finished)
            place.say(f"{finished} of {len(requests)}, about {left_s:.0f} s left")

    project = place.project
    answers = compiling.compile_all(
        *([*requests.values()], project.catalog),
        results=project.results,
        settings=project.config.settings,
        on_answer=report,
    )
    return {need: answers[request] for need, request in requests.items()}


def _costs(catalog: Catalog, wanted: Sequence[Need]) -> dict[Need, Cost | str]:
    from harness.catalog.family_questions import CostQuestion, costs

    questions: list[CostQuestion] = []
    for need in wanted:
        family = catalog.family(need.case.family)
        semantics = catalog.implementation(need.case.implementation).semantics
        questions.append(CostQuestion(family.module, family.name, semantics, need.case.workload))
    return dict(zip(wanted, costs(questions), strict=True))


def _verify(place: Workplace, wanted: Sequence[Need]) -> dict[Need, Judged]:
    """The results of contracts and checks."""
    from harness.run.session import run_and_delete

    cases = list(dict.fromkeys(need.case for need in wanted))
    checks = {case.id: [need.check for need in wanted if need.check and need.case == case] for case in cases}
    place.say(f"{len(cases)} contracts, run on this machine")
    catalog = place.project.catalog
    schedule = schedule_cases([case.id for case in cases], catalog, place.project.config)
    with closing(place.progress(schedule)) as listener:
        _, records, interrupted = run_and_delete(schedule, catalog, listener, "check", checks=checks)
    if interrupted:
        raise KeyboardInterrupt
    judged_by_case = {
        r.case: Judged(r.status, r.reason or "", {check.check: check.passed for check in r.checks})
        for r in records
    }
    absent = Judged(None, "its contract did not run")
    return {need: judged_by_case.get(need.case.id, absent) for need in wanted}


MODE = "mode"


def needs(claim: Claim, catalog: Catalog) -> tuple[Need, ...]:
    """All needs of a claim's figures, without duplicates.

    UsageError, with the figure's place, for names, functions, implementations, targets and fields that
    do not exist.
    """
    wanted: dict[Need, None] = {}
    for figure in claim.figures:
        with at(figure.where):
            for expression in figure.expressions():
                wanted |= dict.fromkeys(_of_expression(expression, claim, figure, catalog))
    return tuple(wanted)


def _of_expression(expression: Expression, claim: Claim, figure: Figure, catalog: Catalog) -> Iterator[Need]:
    _refuse_unknown(expression, claim, per_row=figure.each)
    for _, names in claim.points(figure):
        if not expression.names() <= names.keys():
            continue  # a row that holds no number there
        for call in expression.calls(names):
            yield from _of_call(call, claim, catalog)


def _of_call(call: FunctionCall, claim: Claim, catalog: Catalog) -> Iterator[Need]:
    require_arguments(call.name, call.arguments)
    if call.name in DEVICE:
        accelerators.target(str(call.arguments[0]))
    elif call.name in COLUMNS:
        yield from _of_columns(call, claim, catalog)
    elif call.name == EXPONENT:
        yield from (need_of(end, claim, catalog) for end in ends_of(call))
    else:
        yield need_of(call, claim, catalog)


def _of_columns(call: FunctionCall, claim: Claim, catalog: Catalog) -> Iterator[Need]:
    if claim.table is None:
        raise ValueError(f"{call.name}(…) reads a table, and this claim has none")
    known = KEYWORDS.get(call.name, ())
    for name in sorted(call.keywords.keys() - known):
        raise ValueError(f'{call.name}(…) takes no "{name}"{nearest(name, known)}')
    every_row = Figure(call.name, "", each=True)
    for text in (value for value in call.arguments if isinstance(value, str)):
        yield from _of_expression(parse(text), claim, every_row, catalog)


def _refuse_unknown(expression: Expression, claim: Claim, *, per_row: bool) -> None:
    for name in sorted(expression.functions() - ARGUMENTS.keys()):
        raise ValueError(f'unknown function "{name}"{nearest(name, {*ARGUMENTS, *MATHS})}')
    columns = claim.table.columns if claim.table and per_row else ()
    known = {*claim.names(), *columns}
    for name in sorted(expression.names() - known):
        if claim.table and name in claim.table.columns:
            raise ValueError(f"{name} is a column; add each: true")
        if name in claim.shape:
            raise ValueError(f"{name} has no value; write it under shape")
        raise ValueError(f'unknown name "{name}"{nearest(name, known)}')


def need_of(call: FunctionCall, claim: Claim, catalog: Catalog) -> Need:
    """The need of one call. UsageError or ValueError for anything that does not exist."""
    name, arguments = call.name, call.arguments
    label = str(arguments[1] if name == "check" else arguments[0])
    case = _case(label, call.keywords, claim, catalog)
    if name == "check":
        check = str(arguments[0])
        if check not in catalog.checks():
            raise ValueError(f'unknown check "{check}"{nearest(check, catalog.checks())}')
        return Need(Need.JUDGE, case, check=check)
    if name in JUDGED:
        return Need(Need.JUDGE, case)
    if name in ANALYTIC:
        return Need(Need.COST, case)
    framework = catalog.implementation(case.implementation).framework
    if name == TRACED and not traits_of(framework).traces_calls:
        raise ValueError(f"{label} is of {framework}, whose calls are not traced; ask temp_bytes")
    if name in {TRACED, FACT}:
        return Need(Need.COMPILE, case, accelerators.HOST)
    target = str(arguments[1])
    accelerators.target(target)
    return Need(Need.COMPILE, case, target)


def ends_of(call: FunctionCall) -> tuple[FunctionCall, ...]:
    """The calls at both lengths of an exponent."""
    figure, *rest, low, high = call.arguments
    if figure not in {*COMPILED, *ANALYTIC}:
        hint = nearest(str(figure), COMPILED)
        raise ValueError(f'exponent(…) is of a figure, not of "{figure}"{hint}')
    if not 0 < float(low) < float(high):
        raise ValueError(f"exponent(…) goes from a length to a longer one, not from {low} to {high}")
    return tuple(
        FunctionCall(str(figure), tuple(rest), {**call.keywords, "seq": length}) for length in (low, high)
    )


def _case(label: str, keywords: Mapping[str, Value], claim: Claim, catalog: Catalog) -> Case:
    family = catalog.family(claim.family)
    info, options = swept(catalog, family.name, Scalar.given(f'"{label}"', label))
    chosen = variant(info, {option: values[0] for option, values in options.items()})
    mode = str(keywords.get(MODE, family.modes[0]))
    if mode not in family.modes:
        raise ValueError(f'unknown mode "{mode}" of family {family.name}{nearest(mode, family.modes)}')
    shape: dict[str, Field] = {name: claim.shape[name] for name in claim.shape}
    for name, value in keywords.items():
        if name != MODE:
            field = family.field(name)
            text = str(value).lower() if isinstance(value, bool) else str(value)
            shape[name] = parse_field(field, Scalar(name, text, value if isinstance(value, bool) else text))
    absent = [name for name in missing_fields(family, shape) if shape.get(name) is None]
    if absent:
        raise UsageError(f"{label} has no {' and '.join(absent)}; write it under shape")
    return Case.of(info.id, dict(chosen.options), shown_fields(family.fields, shape), mode)
