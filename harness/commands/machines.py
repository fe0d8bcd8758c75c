"""Commands on other machines: `machines` lists them, `--on` measures there."""

from collections.abc import Collection, Sequence
from contextlib import closing
from typing import Any

from harness.collection.joined_run import joined_data, joined_lines
from harness.commands.exit_codes import NOTHING, STOPPED
from harness.commands.output import data_of, print_json, print_note, print_run, stored_of
from harness.commands.run import end_run, tell_left_out
from harness.commands.streams import print_line
from harness.core.errors import UsageError, nearest
from harness.core.plain_data import digest
from harness.core.record import TIMED
from harness.core.typed_command import typed_command
from harness.machines.node import SweepOrder
from harness.machines.node_info import NodeInfo
from harness.machines.ray_cluster import RayCluster
from harness.machines.sweep import SweepOutcome, admit, describe_node, measure_on
from harness.run.session import Done
from harness.store.runs import RunFolder
from harness.sweep.machine_pool import MachinePool
from harness.sweep.overrides import Overrides
from harness.sweep.project import Project
from harness.sweep.schedule import identity

SHOWN = 5  # open groups that are named


def list_machines(project: Project, name: str | None, *, json: bool) -> int:
    """Print the nodes in each pool of bench.yaml, or in one, and why any is refused; the exit code."""
    pools = [pool_of(project, name)] if name else list(project.config.machines.values())
    if not pools:
        raise UsageError(
            f"{project.config.path.name} names no machines; add to it: machines: {{pool: {{address: auto}}}}"
        )
    listed: dict[str, dict[str, Any]] = {}
    for pool in pools:
        with closing(RayCluster(pool)) as cluster:
            found = admit(cluster, project.plugins, project.catalog, list(project.catalog.implementations))
        listed[pool.name] = {node: _data(answer) for node, answer in found.items()}
        for node, answer in found.items():
            said = describe_node(answer) if isinstance(answer, NodeInfo) else f"refused: {answer}"
            if not json:
                print_line(f"{pool.name}: {node}: {said}")
    if json:
        print_json({"machines": listed})
    admitted = any("refused" not in node for nodes in listed.values() for node in nodes.values())
    return 0 if admitted else NOTHING


def _data(answer: NodeInfo | Exception) -> dict[str, Any]:
    if not isinstance(answer, NodeInfo):
        return {"refused": str(answer)}
    return {"fingerprint": answer.facts, "digest": answer.digest, "noise": answer.noise.to_json()}


def pool_of(project: Project, name: str) -> MachinePool:
    """A pool of bench.yaml by its name. UsageError, with the nearest one, for another name."""
    pools = project.config.machines
    if name not in pools:
        where = project.config.path.name
        listed = nearest(name, pools) or ", which names none"
        raise UsageError(f'"{name}" is none of the machines in {where}{listed}')
    return pools[name]


def run_on(
    project: Project,
    name: str,
    suites: Sequence[str],
    overrides: Overrides,
    *,
    depth: str = "run",
    checks: Collection[str] | None = (),
    targets: Sequence[str] = (),
    resume: bool = False,
    strict: bool,
    columns: Sequence[str] = (),
    notes: bool = True,
    json: bool,
) -> int:
    """Measure suites on the machines of a pool, and print the joined runs; the exit code."""
    pool = pool_of(project, name)
    schedule = project.plan(suites, overrides)
    tell_left_out(schedule)
    order = SweepOrder(
        *("", digest(identity(schedule)), 0, project.config, project.given_sources, tuple(suites)),
        *(project.narrow(overrides), tuple(typed_command()), depth, checks, tuple(targets), pool.noise),
    )
    with closing(RayCluster(pool)) as cluster:
        outcome = measure_on(
            cluster, order, schedule, project.catalog, project.results, print_note, resume=resume
        )
    folder = project.results / "runs"
    joined = [(run, Done(RunFolder(folder / run.id), interrupted=False)) for run in outcome.joined]
    if json:
        runs = [{**joined_data(run), **data_of(stored_of(done, columns))} for run, done in joined]
        print_json({"runs": runs, "open": outcome.open})
    else:
        for run, done in joined:
            print_run(done, columns, json=False, notes=notes)
            for line in joined_lines(run):
                print_line(line)
    return _end(outcome, [end_run(done, strict=strict) for _, done in joined], depth)


def _end(outcome: SweepOutcome, codes: Sequence[int], depth: str) -> int:
    """Print which groups are open, and how to go on; the exit code."""
    for problem in outcome.problems:
        print_note(problem)
    if outcome.open:
        for key, why in list(outcome.open.items())[:SHOWN]:
            print_note(f"open: {key}: {why}")
        if len(outcome.open) > SHOWN:
            print_note(f"open: {len(outcome.open) - SHOWN} more groups")
        again = "with --resume" if depth in TIMED else "again"
        print_note(f"go on with the same command {again}; what was sent lies in {outcome.inbox}")
    if outcome.interrupted:
        return STOPPED
    return max(codes, default=NOTHING) or (NOTHING if outcome.open else 0)
