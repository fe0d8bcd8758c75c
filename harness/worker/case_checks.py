"""A family's checks of a case and their untimed calls, run in the case's process."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from harness.catalog.build import Built, build_callable
from harness.catalog.contract import Judgement, require_judgement
from harness.catalog.family import Check, Trial
from harness.core.errors import Unsupported
from harness.core.plain_data import plain
from harness.core.shown_text import message_of
from harness.worker import array_files
from harness.worker.frameworks.base import Framework, Prepared, TraceLimits


def relevant_checks(built: Built, only: list[str] | None) -> list[Check]:
    """The family's checks that apply to the case, restricted to the ids in `only`, if given."""
    semantics, mode, name = built.implementation.semantics, built.case.mode, built.implementation.name
    return [
        check
        for check in built.family.checks
        if (only is None or f"{built.family.name}/{check.name}" in only)
        and check.concerns(semantics, mode, built.names, built.workload, name=name)
    ]


def run_checks(built: Built, checks: Iterable[Check], trial: Trial) -> list[dict[str, Any]]:
    """Run checks and return their results as dicts; a check that raises has failed."""
    expected_failures = built.implementation.fails(trial.workload, trial.options)
    verdicts = ((check, _judge(check, trial)) for check in checks)
    return [
        _check_result(built.family.name, check, verdict, expected_failures.get(check.name))
        for check, verdict in verdicts
        if verdict is not None
    ]


def _judge(check: Check, trial: Trial) -> Judgement | None:
    """The check's judgement, with figures as plain data; None if it needs an unsupported workload."""
    try:
        verdict = require_judgement(check.judge(trial))
        return replace(verdict, figures={name: plain(value) for name, value in verdict.figures.items()})
    except Unsupported:
        return None
    except MemoryError:
        raise  # the memory limit, not a wrong result
    except Exception as error:
        return Judgement(False, {}, f"{type(error).__name__}: {message_of(error)}")


def _check_result(
    family: str, check: Check, verdict: Judgement, expected_failure: str | None
) -> dict[str, Any]:
    """A check's result. `expected_failure` is the declared reason to fail; with it a pass is unexpected."""
    reason = verdict.reason
    if expected_failure and check.decides:
        unexpected_pass = f"marked as failing ({expected_failure}) but passes; remove the marker"
        reason = unexpected_pass if verdict.passed else f"{reason}; expected: {expected_failure}"
    return {
        "check": f"{family}/{check.name}",
        "objection": check.objection,
        "passed": bool(verdict.passed) if check.decides else None,
        "figures": verdict.figures,
        "reason": reason,
        "expected": bool(expected_failure) and check.decides,
    }


def make_trial(
    framework: Framework,
    built: Built,
    prepared: Prepared,
    enter: Callable[[], None],
    inputs: Mapping[str, Any],
    cotangent: Any,
) -> Trial:
    """A case's result on numpy arrays, and functions for further calls; `enter` restores global settings."""
    implementation, options = built.implementation, dict(built.case.options)
    others: dict[Any, tuple[tuple[str, ...], Prepared]] = {}  # by workload

    def call(prepared: Prepared, inputs: Mapping[str, Any], cotangent: Any) -> Any:
        placed = {name: array_files.map_leaves(value, framework.put) for name, value in inputs.items()}
        result = prepared.bind(placed, cotangent)()
        framework.sync(result)
        return framework.get(result)

    def build_for(workload: Any) -> tuple[tuple[str, ...], Prepared]:
        shapes = built.family.shapes_of(implementation.semantics, workload)
        function, names = build_callable(implementation, workload, options, shapes)
        return names, framework.prepare(function, names, shapes, "fwd", TraceLimits(0, 0))

    def solve(workload: Any, inputs: Mapping[str, Any]) -> Any:
        """The forward result of the same implementation for another workload, for which it is built once."""
        framework.enter("fwd", wide=getattr(workload, "dtype", None) == "f64")
        try:
            if workload not in others:
                others[workload] = build_for(workload)
            names, other = others[workload]
            return call(other, {name: inputs[name] for name in names}, None)
        finally:
            enter()

    return Trial(
        workload=built.workload,
        inputs=inputs,
        result=call(prepared, inputs, cotangent),
        call=lambda changed: call(prepared, {**inputs, **changed}, cotangent),
        solve=solve,
        static=prepared.static,
        mode=built.case.mode,
        options=options,
    )
