"""A sweep on nodes that live in this process: what is joined, resumed, refused and missing."""

import json
import sys
import tempfile
from contextlib import closing
from dataclasses import replace
from functools import cache

import pytest

from harness.catalog import discovery
from harness.commands.app import app
from harness.commands.exit_codes import call_app
from harness.commands.run import end_run
from harness.core.errors import MachineError
from harness.core.plain_data import digest
from harness.machines import sweep as sweep_module
from harness.machines.node import MeasuringNode, NodeInfo, SweepOrder
from harness.machines.ray_cluster import NodeAnswer, RayCluster, seats
from harness.machines.sweep import measure_on
from harness.run.session import Done, new_folder
from harness.store.find import all_runs
from harness.sweep.config import ACCELERATOR, MachinePool
from harness.sweep.overrides import Overrides
from harness.sweep.project import Project
from harness.sweep.schedule import identity
from tests.records import PASSED, record_of, timing_of

BENCH = """\
suites:
  topk: {family: topk, seq: [256, 512, 1Ki, 2Ki], rows: 2, topk: 32, impls: [partition, radix],
    baseline: partition}
"""


registered = cache(discovery.catalog)


class Node(MeasuringNode):
    """A node whose disk is a folder of the test, and which stores chosen times instead of measuring."""

    cpu = "Known Processor"

    def __init__(self, name, home):
        super().__init__(name)
        self.home, self.asked = home, []

    @property
    def results(self):
        return self.home

    def info(self, plugins):
        return info_of(cpu=self.cpu)

    def _run(self, request, targets, listener):
        self.asked.append((request.schedule.shard.index, request.resume))
        folder = new_folder(request)
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
            for group in request.schedule.groups
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

    def ask(self, method, *arguments):
        return {name: getattr(node, method)(*arguments) for name, node in self.nodes.items()}

    def submit(self, order, index, node):
        self.running.append((order, index, node))

    def poll(self):
        if not self.running:
            return []
        if self.stops_after is not None:
            self.stops_after -= 1
            if self.stops_after < 0:
                raise KeyboardInterrupt
        order, index, node = self.running.pop(0)
        if node in self.dies:
            return [NodeAnswer(node, index, None, "it is gone")]
        return [NodeAnswer(node, index, self.nodes[node].measure(order, index))]

    def close(self):
        pass


def info_of(cpu="Known Processor", versions=None, sources=None, niceness=0):
    facts = {"cpu": cpu, "cores": 1, "gpu": {"unavailable": "none"}}
    return NodeInfo(code_of(versions, sources), facts, niceness)


def code_of(versions=None, sources=None):
    versions = {"seqsweep": "0.1.0 (abc)", "torch": "2.13.0", **(versions or {})}
    return {**versions, **{f"source of {name}": digest for name, digest in (sources or {}).items()}}


@pytest.fixture
def bench(tmp_path, monkeypatch):
    (tmp_path / "bench.yaml").write_text(BENCH)
    monkeypatch.setattr(sweep_module, "installed_code", lambda _: code_of())
    monkeypatch.setattr(discovery, "catalog", registered)
    project = Project(tmp_path / "bench.yaml")
    schedule = project.plan()
    order = SweepOrder(
        *(digest(identity(schedule)), project.config, (), (), Overrides()),
        *(("seqsweep", "run", "--on", "pool"), "run"),
    )
    said = []

    def measure(cluster, **changed):
        return measure_on(
            cluster, replace(order, **changed), schedule, project.catalog, project.results, said.append
        )

    measure.said, measure.schedule, measure.results = said, schedule, project.results
    return measure


def cases_in(results):
    return sorted(record.case for folder in all_runs(results) for record in folder.read().records)


def all_cases(schedule):
    return sorted(case.id for group in schedule.groups for case in group.cases)


def nodes_in(home, names="ab"):
    return [Node(name, home / name) for name in names]


def test_one_kind_of_machine_makes_one_run(bench, tmp_path):
    nodes = nodes_in(tmp_path)
    outcome = bench(Here(*nodes))
    (joined,) = outcome.joined
    assert (outcome.missing, outcome.interrupted, joined.absent) == ({}, False, ())
    assert cases_in(bench.results) == all_cases(bench.schedule)
    assert [node.asked for node in nodes] == [[(1, False)], [(2, False)]]
    (folder,) = all_runs(bench.results)
    assert folder.info["command"] == ["seqsweep", "run", "--on", "pool"]
    assert end_run(Done(folder, interrupted=False), strict=True) == 0
    assert "b: shard 2/2: 4 ok" in bench.said


def test_there_are_no_more_shards_than_groups(bench, tmp_path):
    outcome = bench(Here(*nodes_in(tmp_path, "abcdef")))
    assert outcome.shards == 4


def command(bench, nodes, monkeypatch, tmp_path):
    """A function that calls a command on these nodes; its exit code."""
    monkeypatch.setattr("harness.commands.machines.RayCluster", lambda _: Here(*nodes))
    file = tmp_path / "bench.yaml"
    file.write_text(f"machines: {{pool: {{address: auto}}}}\n{BENCH}")

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["seqsweep", *words])
        return call_app(app, [*words, "--config", str(file)])

    return call


def test_json_is_the_object_of_a_run_for_each_kind_of_machine(bench, tmp_path, monkeypatch, capsys):
    nodes = nodes_in(tmp_path)
    nodes[1].cpu = "Other Processor"
    call = command(bench, nodes, monkeypatch, tmp_path)
    assert call("run", "topk", "--on", "pool", "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed.keys(), printed["missing"]) == ({"runs", "missing"}, {})
    assert sorted(record["case"] for run in printed["runs"] for record in run["records"]) == all_cases(
        bench.schedule
    )
    for run in printed["runs"]:
        assert call("show", "--run", run["run"], "--json") == 0
        shown = json.loads(capsys.readouterr().out)
        assert {name: run[name] for name in shown} == shown
        assert run.keys() - shown.keys() == {"shards", "of", "absent"}


def test_machines_are_examined_with_the_reason_of_a_refusal(bench, tmp_path, monkeypatch, capsys):
    nodes = nodes_in(tmp_path)
    nodes[1].info = lambda _: info_of(niceness=15)
    call = command(bench, nodes, monkeypatch, tmp_path)
    assert call("doctor", "--on", "pool") == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("a: Known Processor, 1 cores, fingerprint ")
    assert second.startswith("b: refused: its processes have niceness 15")
    assert call("doctor", "--on", "pool", "--json") == 0
    found = json.loads(capsys.readouterr().out)["machines"]
    assert (found["a"]["fingerprint"]["cpu"], [*found["b"]]) == ("Known Processor", ["refused"])


def test_a_lost_node_s_shard_is_missing_and_measured_by_the_command_that_is_named(
    bench, tmp_path, monkeypatch, capsys
):
    nodes = nodes_in(tmp_path, "abc")
    dying = Here(*nodes, dies="b")
    call = command(bench, nodes, monkeypatch, tmp_path)
    monkeypatch.setattr("harness.commands.machines.RayCluster", lambda _: dying)
    assert call("run", "topk", "--on", "pool") == 3
    said = capsys.readouterr().err
    assert "shard 2/3 is missing: b: it is gone" in said
    assert "run what is missing with: seqsweep run topk --on pool --resume" in said
    (folder,) = all_runs(bench.results)
    assert sorted(piece["shard"]["index"] for piece in folder.info["shards"].values()) == [1, 3]
    assert folder.info["finished"] is None
    again = nodes_in(tmp_path, "ac")
    call = command(bench, again, monkeypatch, tmp_path)
    assert call("run", "topk", "--on", "pool", "--resume") == 0
    assert [shard for node in again for shard, _ in node.asked] == [2]
    (folder,) = all_runs(bench.results)
    assert folder.info["finished"]
    assert cases_in(bench.results) == all_cases(bench.schedule)


def test_a_stopped_driver_keeps_what_came_and_resumes_the_rest(bench, tmp_path):
    outcome = bench(Here(*nodes_in(tmp_path), stops_after=1))
    assert outcome.interrupted
    assert outcome.missing == {2: "it was stopped"}
    assert [run.shards for run in outcome.joined] == [(1,)]
    again = nodes_in(tmp_path)
    outcome = bench(Here(*again), resume=True)
    assert (outcome.interrupted, outcome.missing) == (False, {})
    assert [node.asked for node in again] == [[], [(2, False)]]
    assert len(outcome.joined) == 1
    assert cases_in(bench.results) == all_cases(bench.schedule)
    third = nodes_in(tmp_path)
    assert bench(Here(*third), resume=True).missing == {}
    assert [node.asked for node in third] == [[], []]


def test_a_shard_that_a_node_had_begun_is_continued_there(bench, tmp_path):
    node = Node("a", tmp_path / "a")
    bench(Here(node))
    for path in (tmp_path / "results/runs").iterdir():  # it never arrived
        path.rename(tmp_path / "lost")
    node = Node("a", tmp_path / "a")
    order = next(iter(all_runs(node.home)), None)
    assert order is None  # what arrived is deleted there
    bench(Here(node, stops_after=0))
    (tmp_path / "lost").rename(tmp_path / "a/runs/20261120T120000Z-abcdef0")
    info = json.loads((tmp_path / "a/runs/20261120T120000Z-abcdef0/run.json").read_text())
    (shard,) = info["shards"].values()
    (tmp_path / "a/runs/20261120T120000Z-abcdef0/run.json").write_text(json.dumps(shard))
    assert bench(Here(node), resume=True).missing == {}
    assert node.asked == [(1, True)]
    assert "no shard of this sweep has arrived here yet" in " ".join(bench.said)


@pytest.mark.full
def test_a_node_compiles_and_measures_as_a_command_does(bench, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    nodes = nodes_in(tmp_path)
    for node in nodes:
        node._run = super(Node, node)._run
    assert bench(Here(*nodes), depth="check").missing == {}
    outcome = bench(Here(*nodes), depth="static", targets=("host",))
    assert (outcome.missing, len(outcome.joined)) == ({}, 1)
    runs = [folder.read() for folder in all_runs(bench.results)]
    assert sorted(stored.info["depth"] for stored in runs) == ["check", "static"]
    for stored in runs:
        assert sorted(record.case for record in stored.records) == all_cases(bench.schedule)


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
    why = info_of(**{"sources": {"a/x": "closure:1"}, **theirs}).refusal(ours, ["a/x"])
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
    twins = [{**ray_node("a"), "NodeID": number * 8} for number in "12"]
    assert [name for name, *_ in seats(twins, MachinePool("pool"))] == ["a-111111", "a-222222"]
    with pytest.raises(MachineError, match=f"no node of 2 has rack=b; there are {ACCELERATOR}=H200"):
        seats(nodes, MachinePool("other", labels={"rack": "b"}))


def test_without_ray_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(MachineError, match=r"pip install 'seqsweep\[ray\]'"),
        closing(RayCluster(MachinePool("p"))),
    ):
        pass
