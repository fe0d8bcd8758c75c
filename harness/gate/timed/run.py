"""`gate` with a clock: both sides interleaved in one run, pair by pair, until each case is decided."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from harness.core.errors import SeqsweepError
from harness.gate.noise.measure import refuse_below
from harness.gate.options import GateOptions
from harness.gate.outcome import TIME, GateOutcome
from harness.gate.plan import GatePlan, plan_of
from harness.gate.sides.git import state, toplevel
from harness.gate.store import GateFolder, newest
from harness.gate.timed.decision import Margin, pair_effect
from harness.gate.timed.loop import GateLoop
from harness.gate.timed.sequential_test import SequentialTest
from harness.gate.timed.setup import set_up
from harness.gate.timed.verdicts import RoundsWriter, TimedResult, evidence_of, isolated, left_out, verdicts
from harness.run.machine.lock import device_lock
from harness.store.runs import new_run_id
from harness.sweep.project import Asked

if TYPE_CHECKING:
    from harness.gate.report.progress import GateProgress

FIRST_LOOK = 4


def looks(max_pairs: int) -> tuple[int, ...]:
    """After which numbers of pairs is decided: 4, 6, 8 … and the last."""
    return tuple(dict.fromkeys([*range(FIRST_LOOK, max_pairs + 1, 2), max_pairs]))


def run_timed(asked: Asked, asking: GateOptions, progress: GateProgress) -> tuple[GateOutcome, GateFolder]:
    """Measure, decide and store. KeyboardInterrupt leaves everything measured on disk."""
    with ExitStack() as stack:
        question = stack.enter_context(plan_of(asked, asking.against, self_check=asking.self_check))
        refuse_below(asked, min(question.deltas.values()), question.schedule.suites[0].settings.threads)
        request = request_of(question, asking, states(question))
        for device in sorted({case.device for case in question.opponents}):
            stack.enter_context(device_lock(device, " ".join(["seqsweep", *sys.argv[1:]])))
        folder = newest(asked.results, request) if asking.resume else _new(asked, request)
        progress.kept = folder.path
        kept = RoundsWriter(folder, folder.pairs())
        paired = {case: theirs for case, theirs in question.opponents.items() if theirs is not None}
        started = progress.clock()
        empty = TimedResult((), SequentialTest({}))
        try:
            played = _contest(question, asking, paired, kept, progress) if paired else empty
        except SeqsweepError:
            folder.discard_empty()
            raise
        duels, ledger = played.duels, played.ledger
        outcome = GateOutcome(
            kind=TIME,
            base=question.base,
            cases=verdicts(question, played, kept, asking),
            left_out={**question.left_out, **left_out(duels)},
            notes=(*question.notes, *played.disturbances),
            slowdown=question.deltas,
            self_check=asking.self_check,
            inconclusive=asking.inconclusive,
            wall_s=progress.clock() - started,
        )
        outcome = replace(outcome, cases=isolated(outcome.cases, list(question.opponents)))
        evidence = {duel.id: evidence_of(duel, ledger, kept, question) for duel in duels}
        folder.write_header({**folder.header, "outcome": outcome.to_json(), "evidence": evidence})
        return outcome, folder


def _contest(
    question: GatePlan,
    asking: GateOptions,
    paired: Mapping[Any, Any],
    kept: RoundsWriter,
    progress: GateProgress,
) -> TimedResult:
    steps = looks(asking.max_pairs)
    with set_up(question.schedule, paired, question.sides, progress) as (table, duels):
        margins = {d.id: Margin(question.delta(d.candidate.case), looks=steps) for d in duels}
        ledger = SequentialTest(margins)
        for line in kept.lines:
            ledger.feed(line["case"], line["effect"])
        first = 1 + max((line["pair"] for line in kept.lines), default=0)
        contest = GateLoop(
            table, duels, ledger, progress, kept, asking.budget_s, pair_effect, first, question.demoting
        )
        contest.run()
        return TimedResult(tuple(duels), ledger, tuple(contest.disturbances))


def states(question: GatePlan) -> dict[str, str]:
    """What stands in each repository that holds an implementation: it may import or read its neighbours."""
    names = {case.implementation for case in question.opponents}
    folders = {Path(question.catalog.implementation(name).file).parent for name in names}
    return {str(repo): state(repo) for repo in {toplevel(folder) for folder in folders} if repo}


def request_of(question: GatePlan, asking: GateOptions, trees: Mapping[str, str]) -> str:
    """Equal for gates whose pairs may be put together: the same cases of the same code, the same margins."""
    sides = {
        name: {
            "says": side.says,
            "interpreter": side.interpreter,
            "sources": {info.id: info.hash for info in side.catalog.implementations.values()},
        }
        for name, side in question.sides.items()
    }
    what = {
        "sides": sides,
        "cases": sorted(case.id for case in question.opponents),
        "deltas": dict(question.deltas),
        "self_check": asking.self_check,
        "trees": dict(trees),
        "settings": [asdict(suite.settings) for suite in question.schedule.suites],
    }
    return f"sha256:{hashlib.sha256(orjson.dumps(what, option=orjson.OPT_SORT_KEYS)).hexdigest()}"


def _new(asked: Asked, request: str) -> GateFolder:
    now = datetime.now(UTC)
    command = ["seqsweep", *sys.argv[1:]]
    header = {
        "schema": 1,
        "command": command,
        "started": now.isoformat(timespec="seconds"),
        "request": request,
        "outcome": None,
    }
    return GateFolder.create(asked.results, new_run_id(now, f"{os.getpid()} {' '.join(command)}"), header)
