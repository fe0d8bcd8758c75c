"""`collect`: join runs, and print what was joined, which shards are absent, and what was left out."""

from collections.abc import Sequence
from pathlib import Path

from harness.collection.collection import collect
from harness.collection.joined_run import describe_joined, joined_data
from harness.commands.exit_codes import NOTHING
from harness.commands.output import print_json, print_note
from harness.commands.streams import print_line


def collect_runs(sources: Sequence[Path], results: Path, *, json: bool) -> int:
    """Collect, and print what came of it; the exit code."""
    collection = collect(sources, results)
    if json:
        print_json({**vars(collection), "joined": [joined_data(run) for run in collection.joined]})
    else:
        for run in collection.joined:
            print_line(describe_joined(run))
        if collection.copied:
            print_line(f"whole runs copied: {', '.join(collection.copied)}")
        print_line("collected" if collection.changed else "nothing new: everything was collected before")
    for problem in collection.problems:
        print_note(problem)
    return NOTHING if collection.problems else 0
