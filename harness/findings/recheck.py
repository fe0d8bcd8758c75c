"""Check of a receipt on this machine: runs its cases again, and compares every statement."""

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
SAMPLED_SHARE = 0.5  # of the limit, at most, for sampling; the rest is for starting, compiling and checking
LEAST_S = 1e-6  # of a case's sampling budget, as written in a setting
STEP_S = 1.0  # to start, compile and check a case on the host (0.6 to 1 s measured)
# Facts that must be equal for a contract's exact figures to be equal.
EXACT = ("versions", "python", "device", "cpu", "cpu_flags", "gpu", "tpu", "threads", "flags")


@dataclass
class Here:
    """This machine's fingerprint, and its records by case.

    `missing` has the reasons for cases that are unknown here; `absent` is the reason for all other cases
    without a record.
    """

    machine: Mapping[str, Any]
    records: dict[str, Record] = field(default_factory=dict[str, Record])
    missing: dict[str, str] = field(default_factory=dict[str, str])
    absent: str = "it was not run"


@dataclass(frozen=True)
class StatementCheck:
    """Check of a statement: HOLDS, DIFFERS or UNCHECKED. `why` has both figures, or the reason."""

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
    """The worst outcome: a difference, then what could not be checked."""
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
    """Compare speedups by their intervals, which must overlap."""
    case, base = here.records.get(theirs.case), here.records.get(theirs.base)
    if case is None or base is None:
        lost = theirs.base if case else theirs.case
        return UNCHECKED, here.missing.get(lost, f"{lost}: {here.absent}")
    for record in (case, base):
        if record.timing is None:
            return UNCHECKED, f"{record.case}: {record.status}, {record.reason}"
    ours = ratio([base], [case])
    mine = fmt.speedup(ours.value, ours.low, ours.high) if ours.value else "none"
    both = f"here {mine}, in the receipt {fmt.speedup(theirs.ratio, theirs.low, theirs.high)}"
    if theirs.low is None or theirs.high is None or ours.low is None or ours.high is None:
        return UNCHECKED, f"{both}: one has no interval"
    return (HOLDS if theirs.low <= ours.high and ours.low <= theirs.high else DIFFERS), both


def _check_judged(theirs: JudgedCase, here: Here, unlike: Sequence[str]) -> tuple[str, str]:
    record = here.records.get(theirs.case)
    if record is None or record.correctness is None:
        why = f"{record.status}, {record.reason}" if record else here.missing.get(theirs.case, here.absent)
        return UNCHECKED, f"{theirs.case}: {why}"
    ours = record.correctness
    other = [name for name, mine, other in differences(ours.figures, theirs.figures) if mine != other]
    if (ours.contract, ours.passed) != (theirs.contract, theirs.passed):
        both = f"{_verdict(ours)} here, {_verdict(theirs)} in the receipt"
    elif other:
        name = other[0]
        both = f"{name} {ours.figures.get(name)} here, {theirs.figures.get(name)} in the receipt"
    else:
        return HOLDS, ""
    if unlike:
        return UNCHECKED, f"{theirs.case}: {both}; this machine differs in {', '.join(unlike)}"
    return DIFFERS, f"{theirs.case}: {both}"


def _verdict(judged: Correctness | JudgedCase) -> str:
    return f"{judged.contract} {'passed' if judged.passed else 'failed'}"


def run_again(
    project: Project,
    receipt: Receipt,
    progress: Callable[[Schedule], Progress],
    log: Callable[[str], None],
    *,
    limit_s: float,
    wait: bool = False,
) -> Here:
    """Time and check the cases of a receipt, for at most `limit_s`.

    `log` gets an estimate before the first case.
    """
    ratios = [row.ratio for panel in receipt.panels for row in panel.rows if row.ratio is not None]
    timed = dict.fromkeys(case for ratio in ratios for case in (ratio.base, ratio.case))
    judged = dict.fromkeys(j.case for panel in receipt.panels for j in panel.judged if j.case not in timed)
    wanted_s = receipt.budget_s or project.config.settings.budget_s
    budget_s = max(LEAST_S, min(wanted_s, SAMPLED_SHARE * limit_s / max(1, len(timed))))
    estimate_s = len(timed) * budget_s + STEP_S * (len(timed) + len(judged))
    lowered = f" (receipt: {fmt.duration(wanted_s)})" if budget_s < wanted_s else ""
    log(
        f"timing {len(timed)} cases for {fmt.duration(budget_s)} each{lowered} and checking {len(judged)}: "
        f"about {fmt.duration(estimate_s)}, at most {fmt.duration(limit_s)} (--limit)"
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
        here.absent = f"not run within the limit of {fmt.duration(limit_s)}; raise --limit"
    return here


def _is_known(case: str, project: Project, here: Here) -> bool:
    """Whether a case can be scheduled here; if not, store the reason in `here`."""
    try:
        schedule_cases([case], project.catalog, project.config)
    except UsageError as error:
        here.missing[case] = str(error)
    return case not in here.missing
