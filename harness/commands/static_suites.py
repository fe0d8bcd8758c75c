"""`static`: a run that compiles and runs nothing, and the pages that show it."""

from collections.abc import Sequence
from dataclasses import replace

from harness.commands import output
from harness.commands import run as stages
from harness.commands.measuring_options import PageFlags
from harness.run.session import Done
from harness.sweep.overrides import Overrides
from harness.sweep.project import Project


def split_ids(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """(suites, ids of implementations as family/name) among the words."""
    ids = [word for word in words if "/" in word]
    return [word for word in words if word not in ids], ids


def compile_and_print(
    project: Project,
    words: Sequence[str],
    overrides: Overrides,
    targets: Sequence[str],
    pages: PageFlags,
    columns: Sequence[str],
    *,
    notes: bool,
    wait: bool,
    strict: bool,
    json: bool,
) -> int:
    """Compile suites, or cases as family/name, for targets, and print what they plan; the exit code."""
    elsewhere = pages.max_seq and "host" not in targets
    suites, ids = split_ids(words)
    schedule = project.plan(suites, replace(overrides, elsewhere=elsewhere, compiled_only=True), ids)
    base = None
    if pages.against is not None:
        from harness.gate.static.base_figures import compile_base

        base = compile_base(project, schedule, targets, pages.against, output.print_note)
    done = stages.run_schedule(
        *(project, schedule),
        depth="static",
        targets=targets,
        max_seq=pages.max_seq,
        owners=pages.owners or base is not None,
        wait=wait,
    )
    changed = 0
    if pages.owners or base is not None:
        from harness.commands.static_owners import print_plans

        changed = print_plans(done, targets, base, owners=pages.owners, json=json)
    else:
        _print_pages(done, targets, pages, columns, notes=notes, json=json)
    return stages.end_run(done, strict=strict) or changed


def _print_pages(
    done: Done, targets: Sequence[str], pages: PageFlags, columns: Sequence[str], *, notes: bool, json: bool
) -> None:
    if pages.kernels and not json:
        output.print_kernels(done.records, targets)
    else:
        output.print_run(done, columns, json=json, notes=notes)
