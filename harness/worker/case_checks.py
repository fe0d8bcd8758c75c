"""Run a family's checks on a case, in the case's own process: a check calls it on inputs of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from harness.catalog.check import Check, Trial
from harness.catalog.contract import Judgement
from harness.catalog.family import Family
from harness.catalog.implementation import Implementation
from harness.core.case import Case
from harness.core.errors import Unsupported
from harness.core.plain_data import plain
from harness.worker import array_files, resource_limits
from harness.worker.frameworks.base import Prepared


class Examined(Protocol):
    """The part of a case's worker that the checks use."""

    case: Case
    family: Family
    implementation: Implementation
    workload: Any
    names: tuple[str, ...]
    folder: Path
    prepared: Prepared

    def answer(self, inputs: Mapping[str, Any], cotangent: str | None = None) -> Any: ...
    def solve(self, workload: Any, inputs: Mapping[str, Any]) -> Any: ...


def run_checks(worker: Examined, only: list[str] | None, cotangent: str | None) -> list[dict[str, Any]]:
    """The results, as plain dicts, of the checks that concern the case; one that raises has failed."""
    implementation, options = worker.implementation, dict(worker.case.options)
    checks = [
        check
        for check in worker.family.checks
        if (only is None or f"{worker.family.name}/{check.name}" in only)
        and check.concerns(
            implementation.semantics,
            worker.case.mode,
            worker.names,
            worker.workload,
            name=implementation.name,
        )
    ]
    if not checks:
        return []
    inputs = dict(array_files.read(worker.folder / "set0", only=worker.names))
    trial = Trial(
        workload=worker.workload,
        inputs=inputs,
        result=worker.answer(inputs, cotangent),
        call=lambda changed: worker.answer({**inputs, **changed}, cotangent),
        solve=worker.solve,
        static=worker.prepared.static,
        mode=worker.case.mode,
        options=options,
    )
    expected_failures = implementation.fails(worker.workload, options)
    verdicts = ((check, _judge(check, trial)) for check in checks)
    return [
        _check_result(worker.family.name, check, verdict, expected_failures.get(check.name))
        for check, verdict in verdicts
        if verdict is not None
    ]


def _judge(check: Check, trial: Trial) -> Judgement | None:
    """The check's judgement; None where it needs another workload that is not supported."""
    try:
        return check.judge(trial)
    except Unsupported:
        return None
    except MemoryError:
        raise  # the case's limit, not its answer
    except Exception as error:
        return Judgement(False, {}, f"{type(error).__name__}: {resource_limits.message_of(error)}")


def _check_result(
    family: str, check: Check, verdict: Judgement, expected_failure: str | None
) -> dict[str, Any]:
    """A check's result. With `expected_failure`, the declared reason to fail here, passing is the mistake."""
    reason = verdict.reason
    if expected_failure and check.decides:
        unexpected_pass = f"declared to fail ({expected_failure}), but it holds"
        reason = unexpected_pass if verdict.passed else f"{reason}; expected: {expected_failure}"
    return {
        "check": f"{family}/{check.name}",
        "objection": check.objection,
        "passed": bool(verdict.passed) if check.decides else None,
        "figures": {name: plain(value) for name, value in verdict.figures.items()},
        "reason": reason,
        "expected": bool(expected_failure) and check.decides,
    }
