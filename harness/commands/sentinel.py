"""`sentinel`: compare what environments with other versions of the compilers make of the same code."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from harness.commands.exit_codes import NOTHING, STALE
from harness.commands.output import print_json, print_note, write_data
from harness.commands.streams import print_line
from harness.core.errors import UsageError
from harness.core.scratch_folder import ScratchFolder
from harness.core.typed_command import typed_command
from harness.gate.output import refuse_file
from harness.gate.report.compiler_upgrades import change_lines, issue_text, sentence
from harness.gate.sides.base import find_interpreter
from harness.gate.static.compiler_versions import compile_under, upgrades_between


def compare_pythons(
    pythons: Sequence[str],
    words: Sequence[str],
    *,
    issue: Path | None = None,
    out: Path | None = None,
    json: bool,
) -> int:
    """Compile under each and print what changed from one to the next; if anything did, write issue and chart.

    The exit code: 1 where a figure changed, 3 where none was compiled.
    """
    if len(pythons) < 2:
        raise UsageError("--python: give it twice or more, the environment of before first, then newer ones")
    for flag, file in (("--issue", issue), ("--out", out)):
        if file is not None:
            refuse_file(file, flag)
    programs = [find_interpreter(python, f"--python {python}") for python in pythons]
    runs = []
    with ScratchFolder("sentinel-") as scratch:
        for place, program in enumerate(programs):
            print_note(f"compiling under {pythons[place]} ({place + 1} of {len(programs)})")
            runs.append(
                compile_under(program, words, scratch / str(place), lambda line: print_note(f"  {line}"))
            )
    upgrades = upgrades_between(runs)
    if json:
        data = [{**asdict(upgrade), "changed": len(upgrade.changed)} for upgrade in upgrades]
        print_json({"upgrades": data})
    else:
        for upgrade in upgrades:
            print_line(sentence(upgrade))
            for line in change_lines(upgrade):
                print_line(line)
    changed = any(upgrade.changed for upgrade in upgrades)
    if issue is not None and changed:
        write_data(issue_text(upgrades, typed_command()).encode(), issue, "--issue")
    if out is not None:
        from harness.gate.report.compiler_chart import draw_versions

        chart = draw_versions(runs)
        if chart is None:
            print_note(f"--out {out}: no figure changed, and so nothing is drawn")
        else:
            write_data(chart, out)
    if not any(upgrade.cases for upgrade in upgrades):
        return NOTHING
    return STALE if changed else 0
