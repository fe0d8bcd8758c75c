"""Other machines: `doctor --on` checks them, `--on` measures there, `collect` joins runs."""

import shlex
from collections.abc import Collection, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from harness.collection.collection import collect
from harness.collection.joined_run import describe_joined, joined_data, without_flag
from harness.commands.exit_codes import NOTHING, STOPPED
from harness.commands.output import Shown, data_of, print_json, print_note, print_run, stored_of
from harness.commands.run import end_run, report_left_out
from harness.commands.streams import print_line
from harness.core.errors import UsageError, nearest
from harness.core.plain_data import digest
from harness.core.typed_command import typed_command
from harness.machines.node import NodeInfo, SweepOrder
from harness.machines.ray_cluster import RayCluster
from harness.machines.sweep import admit, measure_on
from harness.run.session import Done
from harness.store.runs import RunFolder
from harness.sweep.config import MachinePool
from harness.sweep.overrides import Overrides
from harness.sweep.project import Project
from harness.sweep.schedule import identity


def examine_machines(project: Project, name: str, *, json: bool) -> int:
    """Print the nodes of a pool of bench.yaml, with reasons for refused ones. Returns the exit code."""
    with closing(RayCluster(pool_of(project, name))) as cluster:
        found = admit(cluster, project.plugins)
    if json:
        print_json({"machines": {node: _data(answer) for node, answer in found.items()}})
    for node, answer in found.items() if not json else ():
        shown = answer.description if isinstance(answer, NodeInfo) else f"refused: {answer}"
        print_line(f"{node}: {shown}")
    return 0 if any(isinstance(answer, NodeInfo) for answer in found.values()) else NOTHING


def _data(answer: NodeInfo | Exception) -> dict[str, Any]:
    if not isinstance(answer, NodeInfo):
        return {"refused": str(answer)}
    return {"fingerprint": answer.facts, "digest": answer.digest}


def pool_of(project: Project, name: str) -> MachinePool:
    """The pool of bench.yaml with this name. UsageError, with the nearest name, for any other."""
    pools = project.config.machines
    if name not in pools:
        where = project.config.path.name
        listed = nearest(name, pools) or f"; add machines to {where}"
        raise UsageError(f'"{name}" is not one of the machines in {where}{listed}')
    return pools[name]


def run_on(
    project: Project,
    name: str,
    suites: Sequence[str],
    overrides: Overrides,
    shown: Shown,
    *,
    depth: str = "run",
    checks: Collection[str] | None = (),
    targets: Sequence[str] = (),
) -> int:
    """Measure suites on the machines of a pool, and print the joined runs. Returns the exit code."""
    pool = pool_of(project, name)
    schedule = project.plan(suites, overrides)
    report_left_out(schedule)
    order = SweepOrder(
        *(digest(identity(schedule)), project.config, project.given_sources, tuple(suites)),
        *(project.narrow(overrides), tuple(typed_command()), depth, checks, tuple(targets)),
    )
    with closing(RayCluster(pool)) as cluster:
        outcome = measure_on(cluster, order, schedule, project.results, print_note)
    folder = project.results / "runs"
    joined = [(run, Done(RunFolder(folder / run.id), interrupted=False)) for run in outcome.joined]
    if shown.json:
        runs = [{**joined_data(run), **data_of(stored_of(done))} for run, done in joined]
        print_json({"runs": runs, "missing": outcome.missing})
    else:
        for run, done in joined:
            print_run(done, shown)
            print_line(describe_joined(run))
    codes = [end_run(done, strict=shown.strict) for _, done in joined]
    for index, why in outcome.missing.items():
        print_note(f"shard {index}/{outcome.shards} is missing: {why}")
        words = [*without_flag(typed_command(), "--on"), "--shard", f"{index}/{outcome.shards}"]
        print_note(f"on a machine of that kind, run {shlex.join(words)}, and then seqsweep collect here")
    if outcome.interrupted:
        return STOPPED
    return max(codes, default=NOTHING) or (NOTHING if outcome.missing else 0)


def collect_runs(sources: Sequence[Path], results: Path, *, json: bool) -> int:
    """Join runs; print what was joined, what is missing and what was left out. Returns the exit code."""
    collection = collect(sources, results)
    if json:
        print_json({**vars(collection), "joined": [joined_data(run) for run in collection.joined]})
    else:
        for run in collection.joined:
            print_line(describe_joined(run))
        if collection.copied:
            print_line(f"copied runs: {', '.join(collection.copied)}")
        print_line("collected" if collection.changed else "nothing new; everything was collected before")
    for problem in collection.problems:
        print_note(problem)
    return NOTHING if collection.problems else 0
