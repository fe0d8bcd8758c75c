"""`collect`: say what was brought together, which shards are missing, and what could not be taken."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.collection.collection import Collection, collect
from harness.collection.joined_run import JoinedRun
from harness.commands.exit_codes import NOTHING
from harness.commands.output import print_json, print_note
from harness.commands.streams import print_line

STALE = 1


def collect_runs(sources: Sequence[Path], results: Path, *, check: bool, json: bool) -> int:
    """Collect, or with `check` only say what collecting would change; the exit code."""
    collection = collect(sources, results, dry_run=check)
    if json:
        print_json(_data(collection))
    else:
        for line in _lines(collection, check=check):
            print_line(line)
    for problem in (*(collection.stale if check else ()), *collection.problems):
        print_note(problem)
    if check and (collection.changed or collection.problems):
        return STALE
    return NOTHING if collection.problems else 0


def _lines(collection: Collection, *, check: bool) -> list[str]:
    lines = [line for run in collection.joined for line in _joined_lines(run)]
    if collection.copied:
        lines.append(f"whole runs {'to copy' if check else 'copied'}: {', '.join(collection.copied)}")
    end = "not all is collected: seqsweep collect without --check brings it" if check else "collected"
    return [*lines, end if collection.changed else "nothing new: everything was collected before"]


def _joined_lines(run: JoinedRun) -> list[str]:
    """`20261120T113000Z-1a2b3c4: shards 1, 2 of 8 of topk, 96 records, on AMD EPYC; 3 to 8 are missing`."""
    records = sum(1 for piece in run.pieces for _ in piece.records)
    suites = ", ".join(run.pieces[0].info["suites"])
    machine = next((facts.get("cpu") for facts in run.pieces[0].fingerprints.values()), None)
    on = f" on {machine}" if machine else ""
    absent = f"; absent: {_listed(run.absent)}" if run.absent else ""
    head = f"{run.id}: {suites}, shards {_listed(run.shards)} of {run.count}, {records} records{on}{absent}"
    return [head, *(f"  {problem}" for problem in run.problems)]


def _listed(numbers: Sequence[int]) -> str:
    """`1-3, 7`."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][-1] + 1:
            spans[-1][1:] = [number]
        else:
            spans.append([number])
    return ", ".join("-".join(map(str, span)) for span in spans)


def _data(collection: Collection) -> dict[str, Any]:
    return {
        "joined": [
            {
                "run": run.id,
                "shards": run.shards,
                "of": run.count,
                "absent": run.absent,
                "problems": run.problems,
            }
            for run in collection.joined
        ],
        "copied": collection.copied,
        "problems": collection.problems,
        "stale": collection.stale,
        "changed": collection.changed,
    }
