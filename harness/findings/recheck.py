"""Checking a receipt on this machine: what it names is run again, and held beside it line by line."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from harness.analysis.stats import ratio
from harness.core.errors import UsageError
from harness.core.fingerprint_identity import fingerprint_differences
from harness.core.plain_data import differences
from harness.core.record import Correctness, Record
from harness.core.stop_signals import time_limit
from harness.findings.receipt import JudgedCase, Receipt, Statement, TimedRatio
from harness.report import format as fmt
from harness.report.progress import Progress
from harness.run.group.group_run import was_cut_short
from harness.run.session import run_and_delete
from harness.sweep.overrides import Overrides
from harness.sweep.project import Project
from harness.sweep.schedule import Schedule, schedule_cases

HOLDS, DIFFERS, UNCHECKED = "holds here", "differs here", "cannot be checked here"
SAMPLED_SHARE = 0.5  # of the limit, at most, for sampling: the rest is for starting, compiling and judging
LEAST_S = 1e-6  # of a case's sampling budget, as a setting is written
STEP_S = 1.0  # to start, compile and judge a case on the host (0.6 to 1 s measured)
# What must be equal for the exact figures of a contract to be.
EXACT = ("versions", "python", "device", "cpu", "cpu_flags", "gpu", "tpu", "threads", "flags")


@dataclass
class Here:
    """This machine's figures: its fingerprint, and records by case.

    `missing` says which cases are not known here, and why; `absent` why others have no figures.
    """

    machine: Mapping[str, Any]
    records: dict[str, Record] = field(default_factory=dict[str, Record])
    missing: dict[str, str] = field(default_factory=dict[str, str])
    absent: str = "it was not run"


@dataclass(frozen=True)
class StatementCheck:
    """The check of a statement: HOLDS, DIFFERS or UNCHECKED; `why` has both figures, or what is missing."""

    about: str
    statement: Statement
    outcome: str
    why: str


def check_statements(receipt: Receipt, here: Here) -> list[StatementCheck]:
    """Compare every statement of a receipt with this machine's figures."""
    return [
        StatementCheck(panel.about, statement, *_check(statement, receipt, here))
        for panel in receipt.panels
        for statement in panel.statements
    ]


def _check(statement: Statement, receipt: Receipt, here: Here) -> tuple[str, str]:
    """The weightiest outcome of what it says: a difference, then what could not be checked."""
    unlike = [name for name, _, _ in fingerprint_differences(receipt.machine, here.machine)]
    exact = [name for name in unlike if name.partition(".")[0] in EXACT]
    if isinstance(statement, TimedRatio):
        found = [_check_ratio(statement, here)]
    else:
        found = [_check_judged(judged, here, exact) for judged in statement]
    for outcome in (DIFFERS, UNCHECKED):
        whys = [why for word, why in found if word == outcome]
        if whys:
            return outcome, whys[0] + (f"; and {len(whys) - 1} more" if len(whys) > 1 else "")
    return HOLDS, "; ".join(dict.fromkeys(why for _, why in found if why))


def _check_ratio(theirs: TimedRatio, here: Here) -> tuple[str, str]:
    """Compare speedups by their intervals: they hold where these overlap."""
    case, base = here.records.get(theirs.case), here.records.get(theirs.base)
    if case is None or base is None:
        lost = theirs.base if case else theirs.case
        return UNCHECKED, here.missing.get(lost, f"{lost}: {here.absent}")
    for record in (case, base):
        if record.timing is None:
            return UNCHECKED, f"{record.case}: {record.status}, {record.reason}"
    ours = ratio([base], [case])
    mine = fmt.speedup(ours.value, ours.low, ours.high) if ours.value else "none"
    said = f"here {mine}, there {fmt.speedup(theirs.ratio, theirs.low, theirs.high)}"
    if theirs.low is None or theirs.high is None or ours.low is None or ours.high is None:
        return UNCHECKED, f"{said}: one has no interval"
    return (HOLDS if theirs.low <= ours.high and ours.low <= theirs.high else DIFFERS), said


def _check_judged(theirs: JudgedCase, here: Here, unlike: Sequence[str]) -> tuple[str, str]:
    record = here.records.get(theirs.case)
    if record is None or record.correctness is None:
        why = f"{record.status}, {record.reason}" if record else here.missing.get(theirs.case, here.absent)
        return UNCHECKED, f"{theirs.case}: {why}"
    ours = record.correctness
    other = [name for name, mine, other in differences(ours.figures, theirs.figures) if mine != other]
    if (ours.contract, ours.passed) != (theirs.contract, theirs.passed):
        said = f"{_verdict(ours)} here, {_verdict(theirs)} there"
    elif other:
        said = f"{other[0]} {ours.figures.get(other[0])} here, {theirs.figures.get(other[0])} there"
    else:
        return HOLDS, ""
    if unlike:
        return UNCHECKED, f"{theirs.case}: {said}, and this machine differs in {', '.join(unlike)}"
    return DIFFERS, f"{theirs.case}: {said}"


def _verdict(judged: Correctness | JudgedCase) -> str:
    return f"{judged.contract} {'met' if judged.passed else 'not met'}"


def run_again(
    project: Project,
    receipt: Receipt,
    progress: Callable[[Schedule], Progress],
    say: Callable[[str], None],
    *,
    limit_s: float,
    wait: bool = False,
) -> Here:
    """Time and judge what a receipt names, in `limit_s` at most, however much that is.

    `say` gets an estimate before the first case.
    """
    ratios = [row.ratio for panel in receipt.panels for row in panel.rows if row.ratio is not None]
    timed = dict.fromkeys(case for ratio in ratios for case in (ratio.base, ratio.case))
    judged = dict.fromkeys(j.case for panel in receipt.panels for j in panel.judged if j.case not in timed)
    asked_s = receipt.budget_s or project.config.settings.budget_s
    budget_s = max(LEAST_S, min(asked_s, SAMPLED_SHARE * limit_s / max(1, len(timed))))
    about_s = len(timed) * budget_s + STEP_S * (len(timed) + len(judged))
    lowered = f" (the receipt's: {fmt.duration(asked_s)})" if budget_s < asked_s else ""
    say(
        f"{len(timed)} cases to time for {fmt.duration(budget_s)} each{lowered}, {len(judged)} to check: "
        f"about {fmt.duration(about_s)}; at most {fmt.duration(limit_s)} (--limit)"
    )
    overrides = Overrides(settings={"seed": str(receipt.seed), "budget": f"{budget_s:.6f}s"})
    here, deadline = Here({}), time.monotonic() + limit_s
    try:
        with time_limit(limit_s):
            for ids, depth in ((timed, "run"), (judged, "check")):
                if known := [case for case in ids if _is_known(case, project, here)]:
                    schedule = schedule_cases(known, project.catalog, project.config, overrides)
                    with closing(progress(schedule)) as listener:
                        run = run_and_delete(schedule, project.catalog, listener, depth, wait=wait)
                    here.machine, made, interrupted = run
                    here.records |= {record.case: record for record in made if not was_cut_short(record)}
                    if interrupted:
                        raise KeyboardInterrupt
    except KeyboardInterrupt:
        if time.monotonic() < deadline:
            raise
        here.absent = f"left out at the limit of {fmt.duration(limit_s)}; raise --limit"
    return here


def _is_known(case: str, project: Project, here: Here) -> bool:
    """Whether a case can be scheduled here; else `here` has the reason."""
    try:
        schedule_cases([case], project.catalog, project.config)
    except UsageError as error:
        here.missing[case] = str(error)
    return case not in here.missing
