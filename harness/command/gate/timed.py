"""`gate` with a clock: both sides interleaved in one run, pair by pair, until each case is decided."""

from __future__ import annotations

import hashlib
import math
import os
import statistics
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import orjson

from harness.analysis.ledger import Ledger, Standing
from harness.analysis.verdict import Margin, pair_effect
from harness.command.asked import Asked
from harness.command.gate.noise import refuse_below
from harness.command.gate.question import Question, asked_of, gone
from harness.run.lock import device_lock
from harness.run.sides.contest import Contest
from harness.run.sides.duel import BASE, CANDIDATE, LEFT_OUT, Duel
from harness.run.sides.meeting import timed
from harness.run.sides.rally import Rounds
from harness.spec.gate import (
    IMPROVED,
    NEW,
    REGRESSED,
    TIME,
    UNCHANGED,
    CaseVerdict,
    GateOutcome,
)
from harness.spec.units import format_big, format_bytes, format_seconds
from harness.store.gates import GateFolder, newest
from harness.store.runs import new_run_id

if TYPE_CHECKING:
    from harness.report.gate.progress import GateProgress

FIRST_LOOK = 4
TAIL = 0.22  # log 1.25: a 90th percentile so much larger is told, and decides nothing
SAME = "same program on both sides, so a difference in time is the machine's"


@dataclass(frozen=True)
class Asking:
    """The flags of a timed gate that are its own."""

    against: str | None
    max_pairs: int
    budget_s: float
    inconclusive: str
    self_check: bool = False
    resume: bool = False


@dataclass(frozen=True)
class Played:
    duels: tuple[Duel, ...]
    ledger: Ledger
    disturbances: tuple[str, ...] = ()


class Kept:
    """Writes the rounds of a pair as they come, and remembers them for explanations."""

    def __init__(self, folder: GateFolder, lines: Sequence[Mapping[str, Any]] = ()) -> None:
        self.folder = folder
        self.lines = [dict(line) for line in lines]

    def append(self, number: int, rounds: Sequence[Rounds]) -> None:
        lines = [{"pair": number, "effect": pair_effect(r.log_ratios), **r.to_json()} for r in rounds]
        self.folder.append(lines)
        self.lines += lines

    def of(self, case: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["case"] == case]


def looks(max_pairs: int) -> tuple[int, ...]:
    """After which numbers of pairs is decided: 4, 6, 8 … and the last."""
    return tuple(dict.fromkeys([*range(FIRST_LOOK, max_pairs + 1, 2), max_pairs]))


def run_timed(asked: Asked, asking: Asking, progress: GateProgress) -> tuple[GateOutcome, GateFolder]:
    """Measure, decide and store. KeyboardInterrupt leaves everything measured on disk."""
    with ExitStack() as stack:
        question = stack.enter_context(asked_of(asked, asking.against, self_check=asking.self_check))
        refuse_below(asked, min(question.deltas.values()), question.schedule.suites[0].settings.threads)
        request = request_of(question, asking)
        for device in sorted({case.device for case in question.opponents}):
            stack.enter_context(device_lock(device, " ".join(["seqsweep", *sys.argv[1:]])))
        folder = newest(asked.results, request) if asking.resume else _new(asked, request)
        progress.kept = folder.path
        kept = Kept(folder, folder.pairs())
        paired = {case: theirs for case, theirs in question.opponents.items() if theirs is not None}
        started = progress.clock()
        empty = Played((), Ledger({}))
        played = _contest(question, asking, paired, kept, progress) if paired else empty
        duels, ledger = played.duels, played.ledger
        outcome = GateOutcome(
            kind=TIME,
            base=question.base,
            cases=_verdicts(question, played, kept, asking),
            left_out={**question.left_out, **_left_out(duels)},
            notes=(*question.notes, *played.disturbances),
            slowdown=question.deltas,
            self_check=asking.self_check,
            inconclusive=asking.inconclusive,
            wall_s=progress.clock() - started,
        )
        outcome = replace(outcome, cases=isolated(outcome.cases, list(question.opponents)))
        evidence = {duel.id: _evidence(duel, ledger, kept, question) for duel in duels}
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


def request_of(question: Question, asking: Asking) -> str:
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


def _verdicts(question: Question, played: Played, kept: Kept, asking: Asking) -> tuple[CaseVerdict, ...]:
    by_id = {duel.id: duel for duel in played.duels}
    found: list[CaseVerdict] = []
    for case in question.opponents:
        info = question.catalog.implementation(case.implementation)
        place: dict[str, Any] = {"file": info.file, "line": info.line}
        if case.id in question.new:
            found.append(CaseVerdict(case.id, NEW, question.new[case.id], **place))
            continue
        duel = by_id[case.id]
        if duel.verdict == LEFT_OUT:
            continue
        if duel.verdict is not None:
            notes = tuple(duel.notes)
            found.append(CaseVerdict(case.id, duel.verdict, duel.reason, notes=notes, **place))
            continue
        said = _timed(duel, played.ledger.cases[case.id], question, asking)
        found.append(replace(said, notes=(*said.notes, *_tail(kept.of(case.id))), **place))
    return (*found, *gone(question))


def _timed(duel: Duel, standing: Standing, question: Question, asking: Asking) -> CaseVerdict:
    said = standing.latest
    verdict, reason = said.verdict, explain(standing, asking)
    notes = list(duel.notes)
    if duel.same_program and question.demoting:
        if verdict != UNCHANGED:
            notes.append(f"advisory: by the clock alone it is {verdict.replace('_', ' ')} ({reason})")
        verdict, reason = UNCHANGED, SAME
    elif verdict == REGRESSED and (why := question.accept(duel.id, "time")):
        verdict, reason = UNCHANGED, f"accepted: {reason}: {why}"
    return CaseVerdict(
        duel.id, verdict, reason, said.effect, said.low, said.high, said.pairs, notes=tuple(notes)
    )


def _tail(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the smallest readings hide: calls that are slow only now and then."""
    tail = statistics.median(line["tail"] for line in lines) if lines else 0.0
    if tail <= TAIL:
        return []
    return [f"advisory: the slowest tenth of its calls takes {100 * math.expm1(tail):.0f} % longer"]


def explain(standing: Standing, asking: Asking) -> str:
    """Why a case has the verdict that its pairs give it."""
    said, delta = standing.latest, standing.margin.slowdown
    half = f"{50 * delta:g} %"
    if said.verdict == REGRESSED:
        if standing.suspicion is None or standing.fresh is None:  # advisory: nobody asked for fresh pairs
            return f"more than {half} slower on {said.pairs} pairs"
        before = standing.suspicion.pairs
        return f"more than {half} slower on {before} pairs, and again on {said.pairs} fresh ones"
    if said.verdict == IMPROVED:
        return f"more than {half} faster on {said.pairs} pairs"
    if said.verdict == UNCHANGED:
        return f"a slowdown of {100 * delta:g} % is excluded"
    if standing.unconfirmed:
        return f"not confirmed: {standing.unconfirmed}"
    count = len(standing.effects)
    if standing.verdict is None:
        stage = "fresh pairs to confirm a suspicion" if standing.suspicion else "pairs"
        return (
            f"the budget of {format_seconds(asking.budget_s, 2)} was spent after {count} {stage}: "
            "raise --budget, or name fewer cases with --cases"
        )
    return f"{count} pairs leave it open: raise --max-pairs, or measure on a quieter machine"


def isolated(cases: Sequence[CaseVerdict], order: Sequence[Any]) -> tuple[CaseVerdict, ...]:
    """A lone regressed length between two unchanged neighbours stays regressed, and is called so."""
    verdicts = {case.case: case for case in cases}
    series: dict[str, list[Any]] = {}
    for case in sorted(order, key=lambda case: case.seq):
        if case.id in verdicts:
            series.setdefault(case.series, []).append(case)
    lone: set[str] = set()
    for lengths in series.values():
        for before, own, after in zip(lengths, lengths[1:], lengths[2:], strict=False):
            near = {verdicts[before.id].verdict, verdicts[after.id].verdict}
            if verdicts[own.id].verdict == REGRESSED and near <= {UNCHANGED, IMPROVED}:
                lone.add(own.id)
    note = "isolated: the lengths beside it are unchanged"
    return tuple(replace(case, notes=(*case.notes, note)) if case.case in lone else case for case in cases)


def _left_out(duels: Sequence[Duel]) -> dict[str, str]:
    return {duel.id: duel.reason for duel in duels if duel.verdict == LEFT_OUT}


def _evidence(duel: Duel, ledger: Ledger, kept: Kept, question: Question) -> dict[str, Any]:
    """What --explain shows of a case beside its verdict."""
    standing = ledger.cases.get(duel.id)
    lines = kept.of(duel.id)
    return {
        "series": duel.candidate.case.series,
        "seq": duel.candidate.case.seq,
        "slowdown": question.delta(duel.candidate.case),
        "first": standing.first if standing else [],
        "fresh": (standing.fresh or []) if standing else [],
        "rounds": [line["log_ratios"] for line in lines],
        "levels_s": [line["levels_s"] for line in lines],
        "static": [f"{name}: {_figures(duel, name)}" for name in (CANDIDATE, BASE)],
        "same_program": duel.same_program if duel.candidate.static.program else None,
    }


def _figures(duel: Duel, name: str) -> str:
    from harness.spec.figures import EXACT_FIGURES, WORDS

    static = duel.halves[name].static
    known = {figure: getattr(static, figure) for figure in EXACT_FIGURES}
    said = (
        f"{WORDS[figure]} {format_big(value) if figure == 'flops' else format_bytes(value)}"
        for figure, value in known.items()
        if value is not None
    )
    return ", ".join(said) or "no figures"
