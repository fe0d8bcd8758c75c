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

from harness.analysis.ledger import Ledger
from harness.analysis.verdict import Margin, pair_effect
from harness.command.asked import Asked
from harness.command.gate.noise import refuse_below
from harness.command.gate.question import Question, asked_of
from harness.command.gate.verdicts import Asking, Kept, Played, evidence_of, isolated, left_out, verdicts
from harness.run.lock import device_lock
from harness.run.sides.contest import Contest
from harness.run.sides.meeting import timed
from harness.run.sides.repository import state, toplevel
from harness.spec.errors import SeqsweepError
from harness.spec.gate import (
    TIME,
    GateOutcome,
)
from harness.store.gates import GateFolder, newest
from harness.store.runs import new_run_id

if TYPE_CHECKING:
    from harness.report.gate.progress import GateProgress

FIRST_LOOK = 4


def looks(max_pairs: int) -> tuple[int, ...]:
    """After which numbers of pairs is decided: 4, 6, 8 … and the last."""
    return tuple(dict.fromkeys([*range(FIRST_LOOK, max_pairs + 1, 2), max_pairs]))


def run_timed(asked: Asked, asking: Asking, progress: GateProgress) -> tuple[GateOutcome, GateFolder]:
    """Measure, decide and store. KeyboardInterrupt leaves everything measured on disk."""
    with ExitStack() as stack:
        question = stack.enter_context(asked_of(asked, asking.against, self_check=asking.self_check))
        refuse_below(asked, min(question.deltas.values()), question.schedule.suites[0].settings.threads)
        request = request_of(question, asking, states(question))
        for device in sorted({case.device for case in question.opponents}):
            stack.enter_context(device_lock(device, " ".join(["seqsweep", *sys.argv[1:]])))
        folder = newest(asked.results, request) if asking.resume else _new(asked, request)
        progress.kept = folder.path
        kept = Kept(folder, folder.pairs())
        paired = {case: theirs for case, theirs in question.opponents.items() if theirs is not None}
        started = progress.clock()
        empty = Played((), Ledger({}))
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
    question: Question, asking: Asking, paired: Mapping[Any, Any], kept: Kept, progress: GateProgress
) -> Played:
    steps = looks(asking.max_pairs)
    with timed(question.schedule, paired, question.sides, progress) as (table, duels):
        margins = {d.id: Margin(question.delta(d.candidate.case), looks=steps) for d in duels}
        ledger = Ledger(margins)
        for line in kept.lines:
            ledger.feed(line["case"], line["effect"])
        first = 1 + max((line["pair"] for line in kept.lines), default=0)
        contest = Contest(
            table, duels, ledger, progress, kept, asking.budget_s, pair_effect, first, question.demoting
        )
        contest.run()
        return Played(tuple(duels), ledger, tuple(contest.disturbances))


def states(question: Question) -> dict[str, str]:
    """What stands in each repository that holds an implementation: it may import or read its neighbours."""
    names = {case.implementation for case in question.opponents}
    folders = {Path(question.catalog.implementation(name).file).parent for name in names}
    return {str(repo): state(repo) for repo in {toplevel(folder) for folder in folders} if repo}


def request_of(question: Question, asking: Asking, trees: Mapping[str, str]) -> str:
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
