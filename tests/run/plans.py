"""Groups and schedules of a family that exists on paper only, and measuring one of them."""

from collections.abc import Sequence
from pathlib import Path

from harness.catalog.catalog import Catalog, FamilyInfo, ImplementationInfo
from harness.core.case import Case
from harness.core.record import Correctness, Record, Timing
from harness.core.workload import Field
from harness.run.group.group_context import GroupContext
from harness.run.group.group_run import GroupRun
from harness.run.group.run_context import Provenance, RunContext
from harness.sweep.schedule import Group, Schedule
from harness.sweep.settings import Settings
from harness.sweep.suite import Skip, Suite
from tests.run.fakes import MIB, FakeExecutor, Heard

SETTINGS = Settings(budget_s=4.0, timeout_s=60.0, memory_bytes=1000 * MIB, threads=1, precision=0.05, seed=0)
FRAMEWORKS = {"broadcast": "jax", "scatter": "jax", "threshold": "torch", "plain": "numpy"}
FIELDS = (Field("seq", "int", required=True), Field("rows", "int", required=False, default=4))


def catalog(**hashes: str) -> Catalog:
    """`hashes` are those of changed sources, by name."""
    family = FamilyInfo("mask", "which columns?", FIELDS, ("exact",), ("fwd", "fwd_bwd"), "family.py")
    infos = [
        ImplementationInfo(
            id=f"mask/{name}",
            framework=framework,
            semantics="exact",
            options=(),
            sentence="",
            expects=None,
            module=f"impls.mask.{name}",
            file=f"{name}.py",
            line=1,
            hash=hashes.get(name, f"sha256:{name}"),
        )
        for name, framework in FRAMEWORKS.items()
    ]
    return Catalog({"mask": family}, {info.id: info for info in infos})


def case(name: str = "scatter", seq: int = 1024, mode: str = "fwd") -> Case:
    return Case.of(f"mask/{name}", {}, {"rows": 4, "seq": seq}, mode)


def group(
    names: Sequence[str] = ("broadcast", "scatter"),
    seq: int = 1024,
    *,
    mode: str = "fwd",
    settings: Settings = SETTINGS,
) -> Group:
    """A group with the baseline `broadcast`, if it is in the group."""
    cases = tuple(case(name, seq, mode) for name in names)
    base = tuple(c.id for c in cases if c.implementation == "mask/broadcast")
    return Group(cases[0].group, cases, {c.id: base for c in cases}, settings)


def schedule(
    names: Sequence[str] = ("broadcast", "scatter"),
    seqs: Sequence[int] = (1024, 2048, 4096),
    *,
    settings: Settings = SETTINGS,
    replicates: int = 1,
    skips: Sequence[tuple[str, int]] = (),
) -> Schedule:
    groups = tuple(group(names, seq, settings=settings) for seq in seqs)
    infos = catalog().implementations
    skipped = tuple(Skip(case(name, seq), "mask has no such mode; use another") for name, seq in skips)
    suite = Suite(
        name="mask",
        family="mask",
        axes={"rows": [4], "seq": list(seqs)},
        modes=("fwd",),
        devices=("cpu",),
        baseline="mask/broadcast",
        implementations=tuple(f"mask/{name}" for name in names),
        cases=(*(c for g in groups for c in g.cases), *(skip.case for skip in skipped)),
        settings=settings,
    )
    used = {c.implementation for c in suite.cases}
    return Schedule((suite,), groups, skipped, {name: infos[name] for name in used}, replicates)


def context(
    executor: FakeExecutor, folder: Path, *, depth: str = "run", listener: Heard | None = None
) -> RunContext:
    provenance = Provenance("20261120T113000Z-1a2b3c4", "sha256:f", "sha256:e", 0)
    return RunContext(
        executor, catalog(), provenance, listener or Heard(), folder, depth=depth, clock=executor.clock
    )


def measure(
    executor: FakeExecutor,
    folder: Path,
    one: Group | None = None,
    *,
    depth: str = "run",
    replicate: int = 0,
    listener: Heard | None = None,
    shared: RunContext | None = None,
) -> dict[str, Record]:
    """The records of one group, by implementation name; every process must have ended."""
    shared = shared or context(executor, folder, depth=depth, listener=listener)
    records = GroupRun(GroupContext(one or group(), shared, replicate)).run()
    assert executor.living == []
    assert list(folder.iterdir()) == []
    return {record.implementation.split("/")[1]: record for record in records}


def timing(record: Record) -> Timing:
    assert record.timing
    return record.timing


def verdict(record: Record) -> Correctness:
    assert record.correctness
    return record.correctness


def reason(record: Record) -> str:
    assert record.reason
    return record.reason
