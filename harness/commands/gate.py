"""The `gate` command: its flags, its three ways (measure, compile, show again), and Ctrl-C."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.console import Console

from harness.commands.output import print_json
from harness.core.errors import SeqsweepError, SideError, UsageError
from harness.core.units import format_seconds, parse_seconds
from harness.gate.outcome import FAIL, STATIC, TIME, WARN, GateOutcome
from harness.gate.plan import one_of, schedule_of
from harness.gate.report.progress import GateProgress
from harness.gate.store import newest
from harness.sweep.project import Asked

if TYPE_CHECKING:
    from harness.gate.options import GateOptions

INCONCLUSIVE = (WARN, FAIL)
LEAST_PAIRS = 4
CONTRADICTIONS = (
    *(("update", "self_check"), ("update", "against"), ("update", "last")),
    *(("static", "self_check"), ("static", "resume"), ("self_check", "against"), ("last", "resume")),
)
GATE_THREADS = "1"

Say = Callable[[str], None]


class GateInterrupted(SeqsweepError):  # noqa: N818 - Ctrl-C, with everything measured kept
    """Says where that is, and how to go on."""

    exit_code = 130


def gate(flags: Mapping[str, Any], console: Console, say: Say) -> tuple[int, dict[str, Any] | None]:
    """(exit code, the data for stdout where JSON is asked for)."""
    _refuse_contradictions(flags)
    asked = Asked({**flags, "threads": _threads(flags), "gate_budget": flags["budget"]})
    if flags["last"]:
        return _again(asked, console)
    if flags["explain"]:
        one_of(flags["explain"], [case.id for case in schedule_of(asked)[2]])  # before anything is measured
    progress = GateProgress(0, Console(stderr=True, highlight=False))
    kept: Mapping[str, Any] = {}
    try:
        if flags["update"]:
            return _update(asked, progress, say)
        if flags["static"]:
            from harness.gate.static.run import run_static

            outcome = run_static(asked, flags["against"], progress)
        else:
            from harness.gate.timed.run import run_timed

            outcome, folder = run_timed(asked, options_of(flags), progress)
            kept = folder.header["evidence"]
    except SideError as error:
        kind = STATIC if flags["static"] else TIME
        outcome = GateOutcome(kind, flags["against"] or "its base", (), broken=str(error))
    except KeyboardInterrupt:
        if progress.kept is None:
            raise
        again = shlex.join(word for word in ["seqsweep", *sys.argv[1:]] if word != "--resume")
        raise GateInterrupted(
            f"stopped; the pairs measured so far are in {progress.kept}\nresume with: {again} --resume"
        ) from None
    finally:
        progress.close()
    return _finish(asked, outcome, kept, console)


def options_of(flags: Mapping[str, Any]) -> GateOptions:
    from harness.gate.options import GateOptions

    return GateOptions(
        against=flags["against"],
        max_pairs=flags["max_pairs"],
        budget_s=_budget(flags["budget"]),
        inconclusive=flags["inconclusive"],
        self_check=flags["self_check"],
        resume=flags["resume"],
    )


def _finish(
    asked: Asked, outcome: GateOutcome, kept: Mapping[str, Any], console: Console
) -> tuple[int, dict[str, Any] | None]:
    from harness.gate.output import explanation_of, tell

    flags = asked.flags
    outcome = replace(outcome, inconclusive=flags["inconclusive"])
    explain = flags["explain"]
    explanation = explanation_of(outcome, kept, explain) if explain and not outcome.broken else None
    data = tell(outcome, console, json=asked.json, junit_file=flags["junit"], explanation=explanation)
    return outcome.exit_code, data


def _again(asked: Asked, console: Console) -> tuple[int, dict[str, Any] | None]:
    """The newest stored gate once more; nothing is measured."""
    folder = newest(asked.results)
    header = folder.header
    if header.get("outcome") is None:
        raise UsageError(
            f"the newest gate, {folder.path}, was interrupted; go on with: {shlex.join(header['command'])} "
            "--resume"
        )
    return _finish(asked, GateOutcome.from_json(header["outcome"]), header["evidence"], console)


def _update(asked: Asked, progress: GateProgress, say: Say) -> tuple[int, dict[str, Any] | None]:
    from harness.gate.static.run import update

    path, lines, bad = update(asked, progress)
    if asked.json:
        return 0, {"file": path, "changes": lines, "left_out": bad}
    for line in lines or ["nothing changed"]:
        say(line)
    for line in bad:
        say(f"not written: {line}")
    say(f"written: {path}")
    return 0, None


def tell_noise(flags: Mapping[str, Any], console: Console) -> None:
    """`doctor --noise`: print the data where JSON is asked for, else a page."""
    from harness.gate.noise.measure import REGIME_SECONDS, measure
    from harness.gate.report.noise import print_noise

    seconds = f"{REGIME_SECONDS:g}s"
    asked = Asked({**flags, "threads": _threads(flags), "gate_budget": seconds, "budget": seconds})
    progress = GateProgress(0, Console(stderr=True, highlight=False))
    try:
        regimes = measure(asked, progress)
    finally:
        progress.close()
    if asked.json:
        print_json({"regimes": [regime.to_json() for regime in regimes]})
    else:
        print_noise(console, regimes)


def _threads(flags: Mapping[str, Any]) -> str | None:
    """One thread, unless somebody has said otherwise: two processes then do not need each other's cores."""
    if flags.get("threads") is not None:
        return str(flags["threads"])
    config = Asked(flags).config()
    suites = [config.suites[name] for name in flags.get("suites") or config.default if name in config.suites]
    written = "threads" in config.given or any("threads" in suite.overrides for suite in suites)
    return None if written else GATE_THREADS


def _refuse_contradictions(flags: Mapping[str, Any]) -> None:
    if flags["inconclusive"] not in INCONCLUSIVE:
        raise UsageError(f"--inconclusive {flags['inconclusive']}: write warn or fail")
    if flags["max_pairs"] < LEAST_PAIRS:
        pairs = flags["max_pairs"]
        raise UsageError(f"--max-pairs {pairs}: no verdict stands on fewer than {LEAST_PAIRS} pairs")
    _budget(flags["budget"])
    for one, other in CONTRADICTIONS:
        if flags[one] and flags[other]:
            names = [name.replace("_", "-") for name in (one, other)]
            raise UsageError(f"--{names[0]} and --{names[1]} ask for two things; give one of them")
    if flags["update"] and not flags["static"]:
        raise UsageError("--update writes the file of exact figures: say --static too")
    if flags["static"] and flags["explain"]:
        raise UsageError("--explain is about times; of --static, the reasons say everything")


def _budget(text: str) -> float:
    try:
        seconds = parse_seconds(text)
    except ValueError as error:
        raise UsageError(f"--budget: {error}") from None
    if seconds <= 0:
        raise UsageError(f"--budget {format_seconds(seconds)}: must be longer than 0 s")
    return seconds
