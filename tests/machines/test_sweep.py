"""A sweep on nodes that live in this process: what is joined, resumed, refused and doubted."""

import json
import sys
import tempfile
from contextlib import closing
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import pytest

from harness.catalog import discovery
from harness.collection.collection import write_run
from harness.commands.app import app
from harness.commands.exit_codes import call_app
from harness.commands.run import end_run
from harness.core.errors import MachineError, UsageError
from harness.core.plain_data import digest
from harness.machines import inbox as inbox_module
from harness.machines import node as node_module
from harness.machines import sweep as sweep_module
from harness.machines.measured_unit import NodeAnswer
from harness.machines.node import MeasuringNode, SweepOrder
from harness.machines.node_info import NodeInfo
from harness.machines.ray_cluster import RayCluster, seats
from harness.machines.sweep import measure_on, static_units
from harness.run.compile import Pool
from harness.run.machine.noise_probe import READINGS, NoiseProbe
from harness.run.session import Done, new_folder
from harness.store.find import all_runs
from harness.sweep.machine_pool import ACCELERATOR, MachinePool
from harness.sweep.overrides import Overrides
from harness.sweep.project import Project
from harness.sweep.schedule import group_keys, identity
from tests.records import PASSED, record_of, timing_of
from tests.run.compile.fakes import FakeLane

QUIET = NoiseProbe((1e-3,) * READINGS, 0.0)
LOUD = NoiseProbe((1.2e-3,) * READINGS, 0.2)
BENCH = """\
suites:
  topk: {family: topk, seq: [256, 512, 1Ki, 2Ki], rows: 2, topk: 32, impls: [partition, radix],
    baseline: partition}
"""


registered = cache(discovery.catalog)


class NodeHere(MeasuringNode):
    """A node whose disk is a folder of the test."""

    cpu = "Known Processor"

    def __init__(self, name, home):
        super().__init__(name)
        self.home, self.asked = home, []

    @property
    def results(self):
        return self.home

    def info(self, plugins):
        return survey_of(cpu=self.cpu)

    def _run(self, unit, listener):
        self.asked.append(unit)
        return super()._run(unit, listener)


class Node(NodeHere):
    """It stores chosen times instead of measuring."""

    def _run(self, unit, listener):
        self.asked.append(unit)
        schedule = self._part(unit)
        command = (*self.order.command, "--shard", f"{unit}/{self.order.units}")
        folder = new_folder(node_module.Request(schedule, self.catalog, self.results, command, "run"))
        keys = {
            "fingerprint": folder.write_fingerprint({"cpu": self.cpu, "threads": 1}),
            "environment": folder.write_environment({"host": self.name}),
        }
        records = [
            replace(
                record_of(
                    case.implementation.split("/")[1],
                    case.seq,
                    family=case.family,
                    timing=timing_of([1.0] * 6),
                    correctness=PASSED,
                    baseline=case.implementation == "topk/partition",
                ),
                case=case.id,
                run=folder.id,
                **keys,
            )
            for group in schedule.groups
            for case in group.cases
        ]
        folder.append(records)
        folder.update_info(finished="2026-11-20T12:00:00+00:00")
        return Done(folder, interrupted=False)


class Here:
    """A cluster of nodes in this process, of which one at a time answers."""

    def __init__(self, *nodes, dies=(), stops_after=None):
        self.nodes = {node.name: node for node in nodes}
        self.dies, self.stops_after = dies, stops_after
        self.running = []

    def ask(self, method, *arguments, nodes=None):
        return {
            name: getattr(self.nodes[name], method)(*arguments)
            for name in (self.nodes if nodes is None else nodes)
        }

    def submit(self, unit, node):
        self.running.append((unit, node))

    def poll(self):
        if self.stops_after is not None:
            self.stops_after -= 1
            if self.stops_after < 0:
                raise KeyboardInterrupt
        unit, node = self.running.pop(0)
        if node in self.dies:
            return [NodeAnswer(node, None, "it is gone")]
        return [NodeAnswer(node, self.nodes[node].measure(unit))]

    def close(self):
        pass


def survey_of(cpu="Known Processor", versions=None, sources=None, niceness=0):
    facts = {"cpu": cpu, "cores": 1, "gpu": {"unavailable": "none"}}
    return NodeInfo(code_of(versions, sources), facts, QUIET, niceness)


def code_of(versions=None, sources=None):
    versions = {"seqsweep": "0.1.0 (abc)", "torch": "2.13.0", **(versions or {})}
    return {**versions, **{f"source of {name}": digest for name, digest in (sources or {}).items()}}


@pytest.fixture
def bench(tmp_path, monkeypatch):
    (tmp_path / "bench.yaml").write_text(BENCH)
    monkeypatch.setattr(sweep_module, "installed_code", lambda _: code_of())
    monkeypatch.setattr(node_module, "probe_noise", lambda: QUIET)
    monkeypatch.setattr(discovery, "catalog", registered)
    project = Project(tmp_path / "bench.yaml")
    schedule = project.plan()
    order = SweepOrder(
        *("", digest(identity(schedule)), 0, project.config, (), (), Overrides()),
        *(("seqsweep", "run", "--on", "pool"), "run"),
    )
    said = []

    def measure(cluster, *, resume=False, **changed):
        return measure_on(
            *(cluster, replace(order, **changed), schedule, project.catalog, project.results, said.append),
            resume=resume,
        )

    measure.said, measure.schedule, measure.results = said, schedule, project.results
    return measure


def cases_in(results):
    return sorted(record.case for folder in all_runs(results) for record in folder.read().records)


def all_cases(schedule):
    return sorted(case.id for group in schedule.groups for case in group.cases)


def two_nodes(home):
    return [Node(name, home / name) for name in "ab"]


def moves_once(monkeypatch):
    """The noise after the first unit is another than before it."""
    probes = iter([QUIET, LOUD])
    monkeypatch.setattr(node_module, "probe_noise", lambda: next(probes, QUIET))


def test_one_kind_of_machine_makes_one_run(bench, tmp_path):
    nodes = two_nodes(tmp_path)
    outcome = bench(Here(*nodes))
    (joined,) = outcome.joined
    assert (outcome.open, joined.absent) == ({}, ())
    assert cases_in(bench.results) == all_cases(bench.schedule)
    assert sorted(nodes[0].asked + nodes[1].asked) == [1, 2, 3, 4]
    assert all(len(node.asked) == 2 for node in nodes)
    (folder,) = all_runs(bench.results)
    assert "node" not in folder.info
    assert {piece["node"]["name"] for piece in folder.info["shards"].values()} == {"a", "b"}
    assert end_run(Done(folder, interrupted=False), strict=True) == 0


def test_two_kinds_make_two_runs_that_share_no_group(bench, tmp_path):
    nodes = two_nodes(tmp_path)
    nodes[1].cpu = "Other Processor"
    outcome = bench(Here(*nodes))
    assert outcome.open == {}
    assert len(outcome.joined) == 2
    assert cases_in(bench.results) == all_cases(bench.schedule)


def test_json_is_the_object_of_a_run_for_each_kind_of_machine(bench, tmp_path, monkeypatch, capsys):
    nodes = two_nodes(tmp_path)
    nodes[1].cpu = "Other Processor"
    monkeypatch.setattr("harness.commands.machines.RayCluster", lambda _: Here(*nodes))
    file = tmp_path / "bench.yaml"
    file.write_text(f"machines: {{pool: {{address: auto}}}}\n{BENCH}")
    capsys.readouterr()
    assert call_app(app, ["run", "topk", "--on", "pool", "--config", str(file), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed.keys(), printed["open"]) == ({"runs", "open"}, {})
    assert sorted(record["case"] for run in printed["runs"] for record in run["records"]) == all_cases(
        bench.schedule
    )
    for run in printed["runs"]:
        assert call_app(app, ["show", "--run", run["run"], "--config", str(file), "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert {name: run[name] for name in shown} == shown
        assert run.keys() - shown.keys() == {"shards", "of", "absent", "problems"}


def test_a_stopped_driver_resumes_where_it_was(bench, tmp_path):
    outcome = bench(Here(*two_nodes(tmp_path), stops_after=2))
    assert outcome.interrupted
    assert len(outcome.open) == 2
    again = two_nodes(tmp_path)
    outcome = bench(Here(*again), resume=True)
    assert (outcome.interrupted, outcome.open) == (False, {})
    assert len(again[0].asked + again[1].asked) == 2
    assert len(outcome.joined) == 1
    assert cases_in(bench.results) == all_cases(bench.schedule)


def test_what_a_node_had_finished_is_sent_and_not_measured_again(bench, tmp_path):
    bench(Here(Node("a", tmp_path / "a"), stops_after=1))
    (session,) = (bench.results / "machines").iterdir()
    for path in (session / "runs").iterdir():  # it was on its way when the driver died
        path.rename(tmp_path / "lost")
    second = Node("a", tmp_path / "a")
    assert (bench(Here(second), resume=True).open, sorted(second.asked)) == ({}, [2, 3, 4])
    assert cases_in(bench.results) == all_cases(bench.schedule)


def test_a_damaged_run_on_a_node_is_in_nobodys_way(bench, tmp_path):
    damaged = tmp_path / "a" / "runs" / "20261120T120000Z-abcdef0" / "run.json"
    damaged.parent.mkdir(parents=True)
    damaged.write_text("{")
    assert bench(Here(Node("a", tmp_path / "a"))).open == {}
    assert damaged.exists()


def test_a_unit_that_was_half_written_when_the_driver_died_comes_again(bench, tmp_path, monkeypatch):
    def write_half(folder, files):
        write_run(folder, dict(list(files.items())[:-1]))
        raise KeyboardInterrupt

    node = Node("a", tmp_path / "a")
    with monkeypatch.context() as patch:
        patch.setattr(inbox_module, "write_run", write_half)
        assert bench(Here(node)).interrupted
    assert not all_runs(bench.results)
    assert (bench(Here(node), resume=True).open, sorted(node.asked)) == ({}, [1, 2, 3, 4])
    assert cases_in(bench.results) == all_cases(bench.schedule)


def test_resuming_another_sweep_is_refused(bench, tmp_path):
    node = Node("a", tmp_path / "a")
    bench(Here(node))
    with pytest.raises(UsageError, match="have changed"):
        bench(Here(node), resume=True, sweep="another")


def test_a_moved_probe_lets_another_node_measure_and_its_own_run_lies_apart(bench, tmp_path, monkeypatch):
    nodes = two_nodes(tmp_path)
    moves_once(monkeypatch)
    outcome = bench(Here(*nodes), noise=0.10)
    assert outcome.open == {}
    assert any(
        "a: its noise probe moved: the median's interval begins 20% above the other one's end" in line
        for line in bench.said
    )
    assert cases_in(bench.results) == all_cases(bench.schedule)
    (doubtful,) = all_runs(outcome.inbox / "doubtful")
    index = doubtful.info["shard"]["index"]
    assert doubtful.info["node"]["noise"]["after"]["median_s"] == 1.2e-3
    assert index in nodes[1].asked
    assert doubtful.id not in {piece.run for run in outcome.joined for piece in run.pieces}


def test_without_another_machine_the_doubtful_group_is_open_with_the_reason(bench, tmp_path, monkeypatch):
    moves_once(monkeypatch)
    outcome = bench(Here(Node("a", tmp_path / "a")), noise=0.10)
    assert list(outcome.open) == [group_keys(bench.schedule)[0]]
    assert "20%" in next(iter(outcome.open.values()))


def test_nodes_keep_nothing_of_what_arrived(bench, tmp_path, monkeypatch):
    nodes = two_nodes(tmp_path)
    moves_once(monkeypatch)
    bench(Here(*nodes), noise=0.10)
    assert [run for node in nodes for run in all_runs(node.home)] == []
    assert not any("stay" in line for line in bench.said)
    assert cases_in(bench.results) == all_cases(bench.schedule)


def test_what_lies_otherwise_with_the_driver_stays_on_the_node_and_is_named(bench, tmp_path, monkeypatch):
    node = Node("a", tmp_path / "a")
    true, torn = inbox_module.run_digest, []

    def digest(path):
        torn[:] = torn or [path.name]
        return "of another file" if path.name in torn else true(path)

    monkeypatch.setattr(inbox_module, "run_digest", digest)
    bench(Here(node))
    assert [run.id for run in all_runs(node.home)] == torn
    assert f"a: 1 runs that did not arrive here stay in {tmp_path / 'a' / 'runs'}" in bench.said[-1]


def test_an_interrupted_sweep_leaves_the_nodes_stores_alone(bench, tmp_path):
    node = Node("a", tmp_path / "a")
    bench(Here(node, stops_after=1))
    assert len(all_runs(node.home)) == 1


@pytest.fixture
def lanes(monkeypatch, tmp_path):
    """The compile workers that nodes started, which look up what they compile."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # with a lock on the processor of its own
    started = []

    def warm(catalog, results, threads):
        lane = FakeLane(threads=threads)
        started.append(lane)
        pool = Pool(catalog, results, [lane])
        machine = {"fingerprint": {"cpu": NodeHere.cpu}, "environment": {}}
        return SimpleNamespace(machine=machine, pool=pool, close=pool.close)

    monkeypatch.setattr(node_module, "WarmCompilers", warm)
    return started


def static_on(bench, *nodes):
    return bench(Here(*nodes), depth="static", targets=("host",))


def test_programs_are_compiled_once_the_long_ones_first_by_workers_that_stay(bench, tmp_path, lanes):
    nodes = [NodeHere(name, tmp_path / name) for name in "ab"]
    outcome = static_on(bench, *nodes)
    assert (outcome.open, len(outcome.joined)) == ({}, 1)
    assert (nodes[0].asked, nodes[1].asked) == ([4, 2], [3, 1])
    assert [{seq for _, seq, _ in lane.compiled} for lane in lanes] == [{2048, 512}, {1024, 256}]
    assert sorted(seq for lane in lanes for _, seq, _ in lane.compiled) == sorted([256, 512, 1024, 2048] * 2)
    assert all(lane.closed for lane in lanes)
    assert cases_in(bench.results) == all_cases(bench.schedule)


def test_what_any_machine_has_compiled_is_compiled_by_no_other(bench, tmp_path, lanes):
    static_on(bench, NodeHere("a", tmp_path / "a"))
    compiled = len(lanes[0].compiled)
    outcome = static_on(bench, NodeHere("new", tmp_path / "new"))
    assert (compiled, lanes[1].compiled) == (8, [])
    assert outcome.open == {}
    (kept,) = [folder for folder in all_runs(bench.results) if folder.info["overhead"] is None][-1:]
    assert all(record.static["host"].temp_bytes for record in kept.read().records)


def test_a_unit_has_programs_for_all_cores_of_a_node(bench, tmp_path):
    def units(*cores):
        nodes = [replace(survey_of(), facts={"cores": count}) for count in cores]
        return static_units(bench.schedule, 4, nodes)

    assert units(1) == 4  # each of its groups: 32 programs in all
    assert units(4) == 2
    assert units(64) == 2
    assert units(64, 64) == 4


@pytest.mark.parametrize(
    ("theirs", "says"),
    [
        ({"versions": {"torch": "2.12.1"}}, "torch is 2.13.0 here and 2.12.1 there; install the same there"),
        ({"versions": {"seqsweep": "0.1.0 (def)"}}, "seqsweep is 0.1.0 (abc) here and 0.1.0 (def) there"),
        ({"sources": {"a/x": "closure:2"}}, "source of a/x differs"),
        ({"sources": {"a/x": "closure:1"}, "niceness": 15}, "niceness 15"),
        ({"sources": {"a/x": "closure:1", "a/y": "closure:9"}}, None),
    ],
)
def test_a_node_with_other_code_is_refused_with_the_difference(theirs, says):
    ours = code_of(sources={"a/x": "closure:1"})
    why = survey_of(**{"sources": {"a/x": "closure:1"}, **theirs}).refusal(ours, ["a/x"])
    assert why is None if says is None else says in why


def test_no_node_that_may_measure_is_an_error(bench, tmp_path, monkeypatch):
    monkeypatch.setattr(sweep_module, "installed_code", lambda _: code_of({"torch": "1"}))
    with pytest.raises(MachineError, match="no machine may measure"):
        bench(Here(Node("a", tmp_path / "a")))
    assert "a: refused: torch is 1 here and 2.13.0 there" in bench.said[0]


def ray_node(name, cpus=8, gpus=0, **labels):
    resources = {"CPU": cpus, "memory": 1.0} | ({"GPU": gpus} if gpus else {})
    return {
        "NodeID": f"{name}0123456",
        "NodeManagerHostname": name,
        "Alive": True,
        "Resources": resources,
        "Labels": {"ray.io/node-id": name, **labels},
    }


def test_an_actor_takes_a_whole_node_or_its_part_of_it():
    nodes = [ray_node("head", cpus=0), ray_node("a", gpus=4, **{ACCELERATOR: "H200"}), ray_node("b")]
    assert [(name, taken) for name, _, taken, _ in seats(nodes, MachinePool("pool"))] == [
        ("a", {"num_cpus": 8, "num_gpus": 4}),
        ("b", {"num_cpus": 8}),
    ]
    gpus = MachinePool("h200", labels={ACCELERATOR: "H200"}, exclusive=False)
    assert [(name, taken, apart) for name, _, taken, apart in seats(nodes, gpus)] == [
        (f"a/{number}", {"num_cpus": 2, "num_gpus": 1}, True) for number in range(4)
    ]
    with pytest.raises(MachineError, match=f"no node of 2 has rack=b; there are {ACCELERATOR}=H200"):
        seats(nodes, MachinePool("other", labels={"rack": "b"}))


def test_nodes_of_one_host_name_are_told_apart():
    twins = [{**ray_node("a"), "NodeID": number * 8} for number in "12"]
    assert [name for name, *_ in seats(twins, MachinePool("pool"))] == ["a-111111", "a-222222"]


def test_without_ray_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(MachineError, match=r"pip install 'seqsweep\[ray\]'"),
        closing(RayCluster(MachinePool("p"))),
    ):
        pass
