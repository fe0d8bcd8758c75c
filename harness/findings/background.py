"""The provenance of the figures: how to replay them, their known errors, machine, noise and method."""

import shlex
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.analysis.stats import Estimate
from harness.core.fingerprint_identity import device_name
from harness.core.typed_command import quick_notes
from harness.core.units import format_bytes
from harness.findings.document import Part
from harness.findings.kept_run import KeptRun
from harness.report.provenance import provenance

DIRTY = "It ran with uncommitted changes, so that its commit alone may give other figures."
METHOD = (
    "Method: all implementations of a point in the same shuffled rounds, each in a process of its own; "
    "medians, with distribution-free 95 % intervals over the rounds of one process, for display and not for "
    "a verdict; a speedup is the median of the ratios within a round."
)


def commit_of(run: KeptRun) -> tuple[str, bool]:
    """The commit that a run was started in, empty where none is known, and whether files differed from it."""
    git: Mapping[str, Any] = run.environment.get("git") or {}
    return str(git.get("commit") or ""), bool(git.get("dirty"))


def command_of(run: KeptRun) -> str:
    """The command that made a run, as a shell takes it: always this program's, whatever run.json says."""
    words = run.info.get("command") or ("seqsweep", "run")
    return shlex.join(["seqsweep", *map(str, words[1:])])


def replay_part(run: KeptRun, lock: Path | None) -> Part:
    """The command line that replays a run, at its commit, with the file that pins versions, if any."""
    commit, _ = commit_of(run)
    steps = [f"git checkout {commit}"] if commit else []
    steps += [f"pip install -c {lock.name} -e '.[all]'"] if lock else []
    said = [f"{run.name}: started {run.info.get('started')}."]
    said += ["Its commit is not known."] if not commit else []
    return Part(sentences=tuple(said), command=" && ".join([*steps, command_of(run)]))


def errors_part(run: KeptRun) -> Part | None:
    """The known errors of a run: the notes kept with it, and what could not be read."""
    noted = [line.lstrip("-* ") for line in run.notes.splitlines() if line.strip()]
    dirty = [DIRTY] if commit_of(run)[1] else []
    interrupted = [] if run.info.get("finished") else ["It was interrupted, so that cases may be missing."]
    lines = (*noted, *run.problems, *quick_notes(run.info), *dirty, *interrupted)
    return Part(heading=run.name, sentences=lines) if lines else None


def method_part(runs: Sequence[KeptRun]) -> Part:
    """Machine, provenance, noise, method and contracts in five lines."""
    facts = {key: fact for run in runs for key, fact in (run.info.get("fingerprints") or {}).items()}
    records = [record for run in runs for record in run.records]
    times = [t for run in runs for panel in run.panels for t in panel.times.values() if t.value is not None]
    statuses = Counter(record.status for record in records)
    ended = ", ".join(f"{count} {status}" for status, count in statuses.most_common())
    judged = [record.correctness for record in records if record.correctness is not None]
    met = sum(correctness.passed for correctness in judged)
    return Part(
        sentences=(
            f"Machine: {'; '.join(map(describe_machine, facts.values())) or 'not recorded'}.",
            f"Records: {provenance(records, {'fingerprints': facts})}.",
            f"Noise: {_noise(times)} {_loads(runs)}",
            METHOD,
            f"Correctness: {met} of {len(judged)} answers checked meet their contract; {ended}.",
        )
    )


def describe_machine(facts: Mapping[str, Any]) -> str:
    """`AMD EPYC, 2 cores, 2 threads, 24 GiB, kernel 6.18, Python 3.11.7, torch 2.13.0, jax 0.10.2`."""
    name = device_name(facts) or "unknown processor"
    counted = [f"{facts[key]} {key}" for key in ("cores", "threads") if facts.get(key)]
    memory = [format_bytes(facts["memory_gib"] * 2**30)] if facts.get("memory_gib") else []
    versions = [
        f"{package} {version}" for package, version in (facts.get("versions") or {}).items() if version
    ]
    named = [
        f"{word} {facts[key]}" for key, word in (("kernel", "kernel"), ("python", "Python")) if key in facts
    ]
    return ", ".join([str(name), *counted, *memory, *named, *versions])


def _noise(times: Sequence[Estimate]) -> str:
    """The widths of the times' intervals, relative to their medians."""
    halves = sorted(
        (time.high - time.low) / 2 / time.value
        for time in times
        if time.value is not None and time.low is not None and time.high is not None
    )
    if not halves:
        return "no time has an interval." if times else "nothing was timed."
    middle, worst = 100 * statistics.median(halves), 100 * halves[-1]
    return (
        f"a time's 95 % interval is ± {middle:.2g} % in the median and ± {worst:.2g} % at most; "
        f"{len(times) - len(halves)} of {len(times)} times have no interval."
    )


def _loads(runs: Sequence[KeptRun]) -> str:
    loads = [load[0] for run in runs if (load := run.environment.get("load"))]
    return f"Load when the runs began: {', '.join(f'{load:.1f}' for load in loads)}." if loads else ""
