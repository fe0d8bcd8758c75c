"""Checking a receipt on this machine: what it names is run again, and held beside it line by line."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.analysis.stats import Estimate, ratio
from harness.catalog.accelerators import HOST, absent, target
from harness.core.difference import differences
from harness.core.errors import UsageError
from harness.core.fingerprint_identity import fingerprint_differences
from harness.core.record import Record
from harness.core.static_figures import Static
from harness.core.units import format_bytes
from harness.core.version import VERSION
from harness.findings.receipt import CasePlan, JudgedCase, Receipt, ReceiptLine, TimedRatio
from harness.report import format as fmt
from harness.sweep.case_schedule import schedule_of
from harness.sweep.overrides import Overrides

if TYPE_CHECKING:
    from harness.core.case import Case
    from harness.report.progress import Progress
    from harness.sweep.project import Project
    from harness.sweep.schedule import Schedule

HOLDS, DIFFERS, UNCHECKED = "holds here", "differs here", "cannot be checked here"
PROCESSOR = (
    "device",
    "cpu",
    "cpu_flags",
    "gpu",
    "threads",
    "flags",
)  # with versions: what exact figures need


@dataclass(frozen=True)
class Here:
    """What this machine gives: its fingerprint, records by case, plans by case and target.

    `missing` says why there is none, by case or by target.
    """

    machine: Mapping[str, Any]
    records: Mapping[str, Record] = field(default_factory=dict[str, Record])
    plans: Mapping[tuple[str, str], Static] = field(default_factory=dict[tuple[str, str], Static])
    missing: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class LineCheck:
    """`outcome` is HOLDS, DIFFERS or UNCHECKED; `why` has ours beside theirs, or what stands in the way."""

    line: ReceiptLine
    outcome: str
    why: str


def check_lines(receipt: Receipt, here: Here) -> list[LineCheck]:
    """Every line of a receipt, held beside what this machine gives. Edited ones are for others to find."""
    return [_check(line, receipt, here) for line in receipt.lines]


def _check(line: ReceiptLine, receipt: Receipt, here: Here) -> LineCheck:
    """The weightiest outcome of what the line says: a difference, then what could not be checked."""
    unlike = [name for name, _, _ in fingerprint_differences(receipt.machine, here.machine)]
    versions = [name for name in unlike if name.partition(".")[0] in {"versions", "python"}]
    exact = [*versions, *(name for name in unlike if name.partition(".")[0] in PROCESSOR)]
    found = [_check_ratio(pair, here) for pair in line.ratios]
    found += [
        _check_plan(p, line.target, here, exact if line.target == HOST else versions) for p in line.plans
    ]
    found += [_check_judged(judged, here, exact) for judged in line.judged]
    for outcome in (DIFFERS, UNCHECKED):
        whys = [why for word, why in found if word == outcome]
        if whys:
            more = f"; and {len(whys) - 1} more" if len(whys) > 1 else ""
            return LineCheck(line, outcome, whys[0] + more)
    return LineCheck(line, HOLDS, "; ".join(dict.fromkeys(why for _, why in found if why)))


def _check_ratio(theirs: TimedRatio, here: Here) -> tuple[str, str]:
    """By intervals: they overlap, or they do not."""
    case, base = here.records.get(theirs.case), here.records.get(theirs.base)
    if case is None or base is None:
        lost = theirs.base if case else theirs.case
        return UNCHECKED, here.missing.get(lost, f"{lost} was not run")
    for record in (case, base):
        if record.timing is None:
            return UNCHECKED, f"{record.case}: {record.status}, {record.reason}"
    ours = ratio([base], [case])
    if theirs.low is None or theirs.high is None or ours.low is None or ours.high is None:
        lacking = "the receipt has" if theirs.low is None else "here there is"
        return UNCHECKED, f"{lacking} no interval at {case.seq}: here {_ratio(ours)}"
    overlap = theirs.low <= ours.high and ours.low <= theirs.high
    return (HOLDS if overlap else DIFFERS), f"here {_ratio(ours)}, there {_ratio(theirs_as(theirs))}"


def theirs_as(theirs: TimedRatio) -> Estimate:
    return Estimate(theirs.ratio, theirs.low, theirs.high)


def _ratio(estimate: Estimate) -> str:
    return fmt.speedup(estimate.value, estimate.low, estimate.high) if estimate.value else "none"


def _check_plan(theirs: CasePlan, on: str, here: Here, unlike: Sequence[str]) -> tuple[str, str]:
    """Exactly. Whether it fits the host is a matter of its limit, and not held against the receipt."""
    static = here.plans.get((theirs.case, on))
    if static is None or not static.has_figures:
        why = here.missing.get(on) or here.missing.get(theirs.case) or "it was not compiled"
        return UNCHECKED, f"{theirs.case} for {on}: {why}"
    if static.planned_bytes == theirs.bytes and (on == HOST or static.fits == theirs.fits):
        return HOLDS, ""
    here_bytes, there = (_bytes(static.planned_bytes), _bytes(theirs.bytes))
    return _unequal(f"{theirs.case} plans {here_bytes} here, {there} there", unlike)


def _check_judged(theirs: JudgedCase, here: Here, unlike: Sequence[str]) -> tuple[str, str]:
    record = here.records.get(theirs.case)
    if record is None or record.correctness is None:
        why = (
            f"{record.status}, {record.reason}" if record else here.missing.get(theirs.case, "it was not run")
        )
        return UNCHECKED, f"{theirs.case}: {why}"
    ours = record.correctness
    if (ours.contract, ours.passed) != (theirs.contract, theirs.passed):
        return _unequal(f"{theirs.case}: {_verdict(ours)} here, {_verdict(theirs)} there", unlike)
    other = [name for name, mine, other in differences(ours.figures, theirs.figures) if mine != other]
    if other:
        name = other[0]
        said = f"{name} {ours.figures.get(name)} here, {theirs.figures.get(name)} there"
        return _unequal(f"{theirs.case}: {said}", unlike)
    return HOLDS, ""


def _verdict(judged: Any) -> str:
    return f"{judged.contract} {'met' if judged.passed else 'not met'}"


def _unequal(said: str, unlike: Sequence[str]) -> tuple[str, str]:
    """A difference, unless the machine is another: then what is other stands in the way of checking."""
    if not unlike:
        return DIFFERS, said
    return UNCHECKED, f"{said}, and this machine differs in {', '.join(unlike)}"


def _bytes(value: int | None) -> str:
    return "nothing known" if value is None else f"{format_bytes(value)} ({value} B)"


def run_again(
    project: Project, receipt: Receipt, progress: Callable[[Schedule], Progress], *, wait: bool = False
) -> Here:
    """Time, judge and compile what a receipt names, in a folder that is deleted again."""
    timed = dict.fromkeys(case for line in receipt.lines for r in line.ratios for case in (r.base, r.case))
    judged = dict.fromkeys(j.case for line in receipt.lines for j in line.judged if j.case not in timed)
    planned = {(plan.case, line.target): None for line in receipt.lines for plan in line.plans}
    missing: dict[str, str] = {}
    budget = {"budget": f"{receipt.budget_s}s"} if receipt.budget_s > 0 else {}
    overrides = Overrides(settings={"seed": str(receipt.seed), **budget})
    cases: dict[str, Case] = {}
    for case in dict.fromkeys([*timed, *judged, *(case for case, _ in planned)]):
        try:
            cases[case] = schedule_of([case], project.catalog, project.config).suites[0].cases[0]
        except UsageError as error:
            missing[case] = str(error)
    records: dict[str, Record] = {}
    machine: Mapping[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="seqsweep-verify-") as folder:
        for ids, depth in ((timed, "run"), (judged, "check")):
            if known := [case for case in ids if case in cases]:
                schedule = schedule_of(known, project.catalog, project.config, overrides)
                machine, made = _conduct(project, schedule, Path(folder), depth, progress, wait=wait)
                records |= {record.case: record for record in made}
    plans = _compile(project, {ask: cases[ask[0]] for ask in planned if ask[0] in cases}, missing)
    return Here(machine or _probe(project), records, plans, missing)


def _conduct(
    project: Project,
    schedule: Schedule,
    folder: Path,
    depth: str,
    progress: Callable[[Schedule], Progress],
    *,
    wait: bool,
) -> tuple[Mapping[str, Any], Iterable[Record]]:
    from harness.run.session import Request, conduct

    command = ["seqsweep", "verify"]
    request = Request(schedule, project.catalog, folder, command, depth, VERSION, wait=wait)
    with closing(progress(schedule)) as listener:
        done = conduct(request, listener)
    if done.outcome.interrupted:
        raise KeyboardInterrupt
    return list(done.folder.fingerprints().values())[-1], done.outcome.records


def _probe(project: Project) -> Mapping[str, Any]:
    from harness.run.machine.fingerprint_probe import probe_fingerprint

    threads = project.config.settings.threads
    return {**probe_fingerprint("cpu", threads)["fingerprint"], "threads": threads}


def _compile(
    project: Project, asked: Mapping[tuple[str, str], Case], missing: dict[str, str]
) -> dict[tuple[str, str], Static]:
    """The plans for all targets whose compiler is installed; why others are missing is added to `missing`."""
    from harness.run.compile import CompileRequest, compile_all

    for name in dict.fromkeys(name for _, name in asked):
        try:
            lacking = absent(target(name).kind) if name != HOST else None
        except UsageError as error:
            lacking = str(error)
        if lacking:
            missing[name] = lacking
    requests = {ask: CompileRequest(case, ask[1]) for ask, case in asked.items() if ask[1] not in missing}
    if not requests:
        return {}
    settings = project.config.settings
    answers = compile_all(
        list(requests.values()), project.catalog, results=project.results, settings=settings
    )
    for (case, _), request in requests.items():
        if answers[request].reason:
            missing.setdefault(case, str(answers[request].reason))
    return {ask: answers[request].static for ask, request in requests.items()}
