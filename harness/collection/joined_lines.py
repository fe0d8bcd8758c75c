"""A joined run in a line, and for `--json`: which shards it has, and what is missing."""

from collections.abc import Sequence
from typing import Any

from harness.collection.joined_run import JoinedRun


def joined_lines(run: JoinedRun) -> list[str]:
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


def joined_data(run: JoinedRun) -> dict[str, Any]:
    """A joined run for --json: which shards it has, and what is missing."""
    return {
        "run": run.id,
        "shards": run.shards,
        "of": run.count,
        "absent": run.absent,
        "problems": run.problems,
    }
