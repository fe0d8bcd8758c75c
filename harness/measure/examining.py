"""Putting a case to its family's checks, in its own process: a check calls it on inputs of its making."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from harness.catalog.check import Check, Trial
from harness.catalog.contract import Judgement
from harness.catalog.family import Family
from harness.measure import limits, trees
from harness.measure.frameworks import Prepared
from harness.measure.judging import plain


class Examined(Protocol):
    """What an examination needs of a bench."""

    family: Family
    workload: Any
    semantics: str
    names: tuple[str, ...]
    folder: Path
    prepared: Prepared

    def answer(self, inputs: Mapping[str, Any]) -> Any: ...


def examine(bench: Examined, only: list[str] | None) -> list[dict[str, Any]]:
    """A plain dict per check that concerns the case; one that raises has failed, and says how."""
    wanted = [
        check
        for check in bench.family.checks
        if (only is None or f"{bench.family.name}/{check.name}" in only)
        and check.concerns(bench.semantics, bench.names, bench.workload)
    ]
    if not wanted:
        return []
    inputs = dict(trees.read(bench.folder / "set0", only=bench.names))
    trial = Trial(
        workload=bench.workload,
        inputs=inputs,
        result=bench.answer(inputs),
        call=lambda changed: bench.answer({**inputs, **changed}),
        static=bench.prepared.static,
    )
    return [_told(bench.family.name, check, _judge(check, trial)) for check in wanted]


def _judge(check: Check, trial: Trial) -> Judgement:
    try:
        return check.judge(trial)
    except MemoryError:
        raise  # the case's limit, not its answer
    except Exception as error:
        return Judgement(False, {}, f"{type(error).__name__}: {limits.said(error)}")


def _told(family: str, check: Check, verdict: Judgement) -> dict[str, Any]:
    return {
        "check": f"{family}/{check.name}",
        "objection": check.objection,
        "passed": bool(verdict.passed) if check.decides else None,
        "figures": {name: plain(value) for name, value in verdict.figures.items()},
        "reason": verdict.reason,
    }
