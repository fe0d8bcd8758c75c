"""What claims rest on: cases compiled, costs worked out, contracts run, each only where it is asked for."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.analysis.expression import Compiled, Evidence, Judged
from harness.command.asked import Asked
from harness.spec.claim import Need
from harness.spec.record import Cost, Static

if TYPE_CHECKING:
    from harness.catalog.catalog import Catalog
    from harness.run.compiling import Answer, Ask
    from harness.spec.case import Case
    from harness.sweep.config import Config
    from harness.sweep.schedule import Schedule

Say = Callable[[str], None]
TOLD = 10  # programs compiled between two words of progress


def evidence(asked: Asked, catalog: Catalog, wanted: Sequence[Need], say: Say) -> Evidence:
    """Answers to all needs; `say` hears of what takes long."""
    compiled, costed, judged = (
        [one for one in wanted if one.kind == kind] for kind in (Need.COMPILE, Need.COST, Need.JUDGE)
    )
    return Evidence(
        compiled=_compiled(asked, catalog, compiled, say) if compiled else {},
        costs=_costs(catalog, costed) if costed else {},
        judged=_judged(asked, catalog, judged, say) if judged else {},
    )


def _compiled(asked: Asked, catalog: Catalog, wanted: Sequence[Need], say: Say) -> dict[Need, Compiled]:
    from harness.catalog.accelerators import HOST, absent, target
    from harness.run.compiling import Ask

    kinds = {need.target: target(need.target).kind for need in wanted}
    missing = {name: absent(kind) if kind != HOST else None for name, kind in kinds.items()}
    asks = {need: Ask(need.case, need.target) for need in wanted if not missing[need.target]}
    answers = _answers(asked, catalog, list(asks.values()), say)
    found: dict[Need, Compiled] = {}
    for need in wanted:
        why = missing[need.target]
        if why:
            found[need] = Compiled(Static.none(why), reason=why, absent=True)
        else:
            answer = answers[asks[need]]
            found[need] = Compiled(answer.static, answer.status, answer.reason or "")
    return found


def _answers(asked: Asked, catalog: Catalog, asks: Sequence[Ask], say: Say) -> Mapping[Ask, Answer]:
    if not asks:
        return {}
    from harness.run import compiling

    targets = dict.fromkeys(ask.target for ask in asks)
    say(f"{len(asks)} programs for {', '.join(targets)}")
    start, done, fresh = time.monotonic(), 0, 0

    def told(_: Ask, answer: Answer) -> None:
        nonlocal done, fresh
        done, fresh = done + 1, fresh + (not answer.cached)
        if fresh and fresh % TOLD == 0:
            left = (time.monotonic() - start) / done * (len(asks) - done)
            say(f"{done} of {len(asks)}, about {left:.0f} s left")

    settings = asked.config().settings
    return compiling.compile_all(asks, catalog, results=asked.results, settings=settings, told=told)


def _costs(catalog: Catalog, wanted: Sequence[Need]) -> dict[Need, Cost | str]:
    from harness.catalog.costs import Question, costs

    questions: list[Question] = []
    for need in wanted:
        family = catalog.family(need.case.family)
        semantics = catalog.implementation(need.case.implementation).semantics
        questions.append(Question(family.module, family.name, semantics, need.case.workload))
    return dict(zip(wanted, costs(questions), strict=True))


def _judged(asked: Asked, catalog: Catalog, wanted: Sequence[Need], say: Say) -> dict[Need, Judged]:
    """How contracts end. Their run is no one's but this command's, and is gone with it."""
    from harness.run.session import Request, conduct

    say(f"{len(wanted)} contracts, run on this machine")
    schedule = _schedule([need.case for need in wanted], catalog, asked.config())
    progress = asked.progress(schedule)
    try:
        with tempfile.TemporaryDirectory(prefix="seqsweep-claims-") as folder:
            request = Request(schedule, catalog, Path(folder), ["seqsweep", "claims"], "check", "")
            records = conduct(request, progress).outcome.records
    finally:
        progress.close()
    ended = {record.case: Judged(record.status, record.reason or "") for record in records}
    absent = Judged(None, "its contract did not run")
    return {need: ended.get(need.case.id, absent) for need in wanted}


def _schedule(cases: Sequence[Case], catalog: Catalog, config: Config) -> Schedule:
    """These cases and no others, a suite each, under the settings of bench.yaml."""
    from dataclasses import replace

    from harness.spec.workload import canonical
    from harness.sweep.config import SuiteConfig
    from harness.sweep.nodes import Entry, Scalar
    from harness.sweep.overrides import Overrides
    from harness.sweep.schedule import plan

    def suite(name: str, case: Case) -> SuiteConfig:
        values = {
            field: Scalar(
                name, canonical(value), value if isinstance(value, bool | None) else canonical(value)
            )
            for field, value in case.workload
        }
        return SuiteConfig(
            name=name,
            where=name,
            family=Scalar.given(name, case.family),
            impls=(Scalar.given(name, case.label),),
            axes={field: Entry(name, value) for field, value in values.items()},
            modes=(case.mode,),
        )

    suites = {f"claim {number}": suite(f"claim {number}", case) for number, case in enumerate(cases)}
    return plan(replace(config, default=tuple(suites), suites=suites), catalog, (), Overrides())
