"""A sweep on nodes that live in this process: what is joined, refused and missing."""

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
from harness.machines.node import MeasuringNode, NodeInfo, SweepOrder, program
from harness.machines.ray_cluster import RayCluster, placements
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
    """A node with a test folder as its disk, which stores given times instead of measuring."""

    cpu = "Known Processor"

    def __init__(self, name, home):
        super().__init__()
        self.name, self.home, self.asked = name, home, []

    @property
    def results(self):
        return self.home

    def info(self, plugins):
        return info_of(cpu=self.cpu)

    def _run(self, request, targets, listener):
        self.asked.append(request.schedule.shard.index)
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
    """A cluster of nodes in this process; one node at a time replies."""

    def __init__(self, *nodes, dies=(), stops_after=None):
        self.nodes = {node.name: node for node in nodes}
        self.dies, self.stops_after = dies, stops_after

    def examine(self, plugins):
        return {name: node.info(plugins) for name, node in self.nodes.items()}

    def measure(self, order, shards):
        for number, (node, index) in enumerate(shards.items()):
            if number == self.stops_after:
                raise KeyboardInterrupt
            gone = MachineError("it is gone") if node in self.dies else None
            yield node, gone or self.nodes[node].measure(order, index)

    def forget(self, node, run):
        self.nodes[node].forget(run)

    def close(self):
        pass


def info_of(cpu="Known Processor", code=None, niceness=0):
    return NodeInfo(code or program(), {"cpu": cpu, "cores": 1, "gpu": {"unavailable": "none"}}, niceness)


@pytest.fixture
def bench(tmp_path, monkeypatch):
    (tmp_path / "bench.yaml").write_text(BENCH)
    monkeypatch.setattr(discovery, "catalog", registered)
    project = Project(tmp_path / "bench.yaml")
    schedule = project.plan()
    order = SweepOrder(
        *(digest(identity(schedule)), project.config, (), (), Overrides()),
        *(("seqsweep", "run", "--on", "pool"), "run"),
    )
    said = []

    def measure(cluster, **changed):
        return measure_on(cluster, replace(order, **changed), schedule, project.results, said.append)

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
    assert [node.asked for node in nodes] == [[1], [2]]
    (folder,) = all_runs(bench.results)
    assert folder.info["command"] == ["seqsweep", "run", "--on", "pool"]
    assert end_run(Done(folder, interrupted=False), strict=True) == 0
    assert "b: shard 2/2: 4 ok" in bench.said
    assert not any(all_runs(node.home) for node in nodes), "what has arrived is deleted there"


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
    assert "run seqsweep run topk --shard 2/3, and then seqsweep collect here" in said
    (folder,) = all_runs(bench.results)
    assert sorted(piece["shard"]["index"] for piece in folder.info["shards"].values()) == [1, 3]
    assert folder.info["finished"] is None


def test_interrupted_driver_keeps_received_shards(bench, tmp_path):
    outcome = bench(Here(*nodes_in(tmp_path), stops_after=1))
    assert (outcome.interrupted, outcome.missing) == (True, {2: "it was interrupted"})
    assert [run.shards for run in outcome.joined] == [(1,)]


def test_node_with_another_plan_measures_nothing(bench, tmp_path):
    nodes = nodes_in(tmp_path, "a")
    with pytest.raises(MachineError, match="install the same there"):
        bench(Here(*nodes), sweep="0" * 64)
    assert nodes[0].asked == []


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


def test_no_admitted_node_is_an_error(bench, tmp_path):
    node = Node("a", tmp_path / "a")
    node.info = lambda _: info_of(code="0.1.0 (abc)")
    with pytest.raises(MachineError, match="no machine can measure"):
        bench(Here(node))
    assert bench.said == [
        f"a: refused: seqsweep is {program()} here, but 0.1.0 (abc) there; install the same version there"
    ]


def ray_node(name, cpus=8, gpus=0, **labels):
    resources = {"CPU": cpus, "memory": 1.0} | ({"GPU": gpus} if gpus else {})
    return {
        "NodeID": f"{name}0123456",
        "NodeManagerHostname": name,
        "Alive": True,
        "Resources": resources,
        "Labels": {"ray.io/node-id": name, **labels},
    }


def test_an_actor_takes_a_whole_node():
    nodes = [ray_node("head", cpus=0), ray_node("a", gpus=4, **{ACCELERATOR: "H200"}), ray_node("b")]
    assert [(name, taken) for name, _, taken in placements(nodes, MachinePool("pool"))] == [
        ("a", {"num_cpus": 8, "num_gpus": 4}),
        ("b", {"num_cpus": 8}),
    ]
    h200 = MachinePool("h200", labels={ACCELERATOR: "H200"})
    assert [name for name, *_ in placements(nodes, h200)] == ["a"]
    twins = [{**ray_node("a"), "NodeID": number * 8} for number in "12"]
    assert [name for name, *_ in placements(twins, MachinePool("pool"))] == ["a-111111", "a-222222"]
    with pytest.raises(MachineError, match="none of 2 nodes has rack=b"):
        placements(nodes, MachinePool("other", labels={"rack": "b"}))


def test_without_ray_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(MachineError, match=r"pip install 'seqsweep\[ray\]'"),
        closing(RayCluster(MachinePool("p"))),
    ):
        pass
