"""`collect`: join runs, and print what was joined, which shards are missing, and what could not be read."""

from collections.abc import Sequence
from pathlib import Path

from harness.collection.collection import Collection, collect
from harness.collection.joined_run import joined_data, joined_lines
from harness.commands.exit_codes import NOTHING, STALE
from harness.commands.output import print_json, print_note
from harness.commands.streams import print_line


def collect_runs(sources: Sequence[Path], results: Path, *, check: bool, json: bool) -> int:
    """Collect, or with `check` only say what collecting would change; the exit code."""
    collection = collect(sources, results, dry_run=check)
    if json:
        joined = [joined_data(run) for run in collection.joined]
        print_json({**vars(collection), "joined": joined, "changed": collection.changed})
    else:
        for line in _lines(collection, check=check):
            print_line(line)
    for problem in (*(collection.stale if check else ()), *collection.problems):
        print_note(problem)
    if check and (collection.changed or collection.problems):
        return STALE
    return NOTHING if collection.problems else 0


def _lines(collection: Collection, *, check: bool) -> list[str]:
    lines = [line for run in collection.joined for line in joined_lines(run)]
    if collection.copied:
        lines.append(f"whole runs {'to copy' if check else 'copied'}: {', '.join(collection.copied)}")
    end = "not all is collected: seqsweep collect without --check brings it" if check else "collected"
    return [*lines, end if collection.changed else "nothing new: everything was collected before"]
