"""A family's checks on a case. They run in the case's process, since they call it on inputs of their own."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from harness.catalog.build import Built
from harness.catalog.check import Check, Trial
from harness.catalog.contract import Judgement, require_judgement
from harness.core.errors import Unsupported
from harness.core.plain_data import plain
from harness.core.shown_text import message_of


def relevant_checks(built: Built, only: list[str] | None) -> list[Check]:
    """The checks of the family that concern the case, restricted to the ids in `only`, if given."""
    semantics, mode, name = built.implementation.semantics, built.case.mode, built.implementation.name
    return [
        check
        for check in built.family.checks
        if (only is None or f"{built.family.name}/{check.name}" in only)
        and check.concerns(semantics, mode, built.names, built.workload, name=name)
    ]


def run_checks(built: Built, checks: Iterable[Check], trial: Trial) -> list[dict[str, Any]]:
    """The results as plain dicts; a check that raises has failed."""
    expected_failures = built.implementation.fails(trial.workload, trial.options)
    verdicts = ((check, _judge(check, trial)) for check in checks)
    return [
        _check_result(built.family.name, check, verdict, expected_failures.get(check.name))
        for check, verdict in verdicts
        if verdict is not None
    ]


def _judge(check: Check, trial: Trial) -> Judgement | None:
    """The check's judgement, with figures as JSON has them; None where it needs an unsupported workload."""
    try:
        verdict = require_judgement(check.judge(trial))
        return replace(verdict, figures={name: plain(value) for name, value in verdict.figures.items()})
    except Unsupported:
        return None
    except MemoryError:
        raise  # the case's limit, not its answer
    except Exception as error:
        return Judgement(False, {}, f"{type(error).__name__}: {message_of(error)}")


def _check_result(
    family: str, check: Check, verdict: Judgement, expected_failure: str | None
) -> dict[str, Any]:
    """A check's result. With `expected_failure`, the declared reason to fail, a pass is unexpected."""
    reason = verdict.reason
    if expected_failure and check.decides:
        unexpected_pass = f"declared to fail ({expected_failure}), but it holds"
        reason = unexpected_pass if verdict.passed else f"{reason}; expected: {expected_failure}"
    return {
        "check": f"{family}/{check.name}",
        "objection": check.objection,
        "passed": bool(verdict.passed) if check.decides else None,
        "figures": verdict.figures,
        "reason": reason,
        "expected": bool(expected_failure) and check.decides,
    }
