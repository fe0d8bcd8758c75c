"""`sentinel`: compare what two environments, with other versions of the compilers, make of the same code."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from harness.commands.exit_codes import NOTHING, STALE
from harness.commands.output import print_json
from harness.commands.streams import print_line
from harness.core.errors import UsageError
from harness.core.scratch_folder import ScratchFolder
from harness.gate.outcome import UNCHANGED
from harness.gate.sides.base import find_interpreter
from harness.gate.static.two_environments import (
    CompiledChange,
    compile_under,
    compiled_changes,
    version_changes,
)

Versions = Mapping[str, tuple[str | None, str | None]]


def compare_pythons(pythons: Sequence[str], words: Sequence[str], *, json: bool) -> int:
    """Compile under both and print what changed; the exit code: 1 where a figure did, 3 without any."""
    if len(pythons) != 2:
        raise UsageError("--python: give it twice, the environment of before and the one of now")
    with ScratchFolder("sentinel-") as scratch:
        programs = [find_interpreter(python, f"--python {python}") for python in pythons]
        sides = [
            compile_under(program, words, scratch / name)
            for program, name in zip(programs, ("before", "now"), strict=True)
        ]
        before, now = (folder.read().records for folder, _ in sides)
        changes, versions = compiled_changes(before, now), version_changes(*(named for _, named in sides))
    changed = [change for change in changes if change.verdict != UNCHANGED]
    if json:
        print_json({"versions": versions, "changed": len(changed), "cases": [asdict(c) for c in changes]})
    else:
        print_line(sentence(changes, versions))
        for change in changed:
            print_line(f"{change.verdict}: {change.case} for {change.target}: {change.reason}")
            for note in change.notes:
                print_line(f"  {note}")
    if not changes:
        return NOTHING
    return STALE if changed else 0


def sentence(changes: Sequence[CompiledChange], versions: Versions) -> str:
    """`2 of 24 cases changed from jaxlib 0.9.0 to 0.10.2: 1 regressed, 1 improved; 5 programs differ.`"""
    named = ", ".join(f"{name} {old or 'none'} to {new or 'none'}" for name, (old, new) in versions.items())
    if not changes:
        return "Nothing was compiled under either, or it is refused by both: name other suites or lengths."
    between = f" from {named}" if named else ", and no version differs"
    counts = Counter(change.verdict for change in changes if change.verdict != UNCHANGED)
    programs = sum(change.reason.startswith("another program") for change in changes)
    parts = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    also = f"; {programs} have another program with the same figures" if programs else ""
    if not counts:
        return f"None of {len(changes)} compiled cases changed{between}{also}."
    return f"{sum(counts.values())} of {len(changes)} compiled cases changed{between}: {parts}{also}."
