"""A sweep on three Ray nodes on this machine measures the same cases, even if one node is killed."""

import json
import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import psutil
import pytest

from harness.store.find import all_runs

ROOT = Path(__file__).resolve().parents[2]
BENCH = """\
machines:
  pool: {{address: "{address}", labels: {{role: measures}}}}
suites:
  topk: {{family: topk, seq: [256, 512, 1Ki, 2Ki, 4Ki, 8Ki], rows: 2, topk: 32, budget: 20ms,
    baseline: partition, impls: [partition, radix]}}
"""
CLASSES = ("1", "1", "2")  # of the nodes' fingerprints, by a flag that stands in it
# So that a killed node is known to be lost within two seconds.
WATCHFUL = {"health_check_period_ms": 500, "health_check_failure_threshold": 4}

pytestmark = pytest.mark.long


def wait_for(condition, seconds=120.0):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.05)
    return found


@contextmanager
def local_nodes(folder):
    """A Ray cluster with three nodes on this machine, each with its own core and TMPDIR."""
    few_bytes = {"object_store_memory": 128 << 20}  # by default each would reserve a third of the memory
    head = {"num_cpus": 0, "include_dashboard": False, "_system_config": WATCHFUL, **few_bytes}
    cluster = import_module("ray.cluster_utils").Cluster(initialize_head=True, head_node_args=head)
    try:
        nodes = []
        for number, kind in enumerate(CLASSES):
            own = folder / f"node{number}"
            own.mkdir()
            environment = {"TMPDIR": str(own), "RAY_worker_niceness": "0", "MALLOC_ARENA_MAX": kind}
            labels = {"role": "measures"}
            nodes.append(cluster.add_node(num_cpus=1, labels=labels, env_vars=environment, **few_bytes))
        yield cluster, nodes
    finally:
        cluster.shutdown()


class Sweep:
    """The command line of a cluster's user, in a separate folder."""

    def __init__(self, cluster, folder):
        self.cluster, self.folder = cluster, folder
        (folder / "bench.yaml").write_text(BENCH.format(address=cluster.address))

    def start(self, *words):
        return subprocess.Popen(
            [sys.executable, str(ROOT / "cli.py"), *words],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(self.folder)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def call(self, *words):
        child = self.start(*words)
        out, said = child.communicate(timeout=500)
        return child.returncode, out, said

    def joined(self):
        """(case, replicate) → status of every record that was joined, each asserted to be there once."""
        keys = [
            (record.case, record.replicate, record.status)
            for folder in all_runs(self.folder / "results")
            for record in folder.read().records
        ]
        assert len(keys) == len({key[:2] for key in keys})
        return sorted(keys)

    def here(self):
        """The statuses of a run without `--on`, in another folder."""
        code, _, said = self.call("run", "--results", "here")
        assert code == 0, said
        (folder,) = all_runs(self.folder / "here")
        return sorted((record.case, record.replicate, record.status) for record in folder.read().records)


@pytest.fixture
def sweep(tmp_path):
    pytest.importorskip("ray", reason="needs Ray: pip install 'seqsweep[ray]'")
    with local_nodes(tmp_path) as (cluster, nodes):
        sweep = Sweep(cluster, tmp_path)
        sweep.nodes = nodes
        yield sweep


def kill_all_of(node):
    """SIGKILL a node's daemon and all that it or its children have started."""
    processes = [
        process
        for info in node.all_processes.values()
        for started in info
        for process in [
            psutil.Process(started.process.pid),
            *psutil.Process(started.process.pid).children(recursive=True),
        ]
    ]
    for process in processes:
        process.kill()


def test_three_nodes_measure_what_one_machine_does(sweep):
    code, out, said = sweep.call("doctor", "--on", "pool", "--json")
    nodes = json.loads(out)["machines"]
    assert code == 0, said
    assert len(nodes) == 3
    assert len({node["digest"] for node in nodes.values()}) == 2
    code, out, said = sweep.call("run", "--on", "pool")
    assert code == 0, said
    assert all(said.count(node) > 1 for node in nodes)
    assert sweep.joined() == sweep.here()


def begun(sweep):
    """Whether a node has stored a part of its shard."""
    return any(
        path.stat().st_size for path in sweep.folder.glob("node*/seqsweep-*-node/runs/*/records.jsonl")
    )


def test_a_killed_node_s_shard_is_missing_and_measured_elsewhere(sweep):
    expected = sweep.here()
    driver = sweep.start("run", "--on", "pool")
    wait_for(lambda: begun(sweep))
    kill_all_of(sweep.nodes[0])
    _, said = driver.communicate(timeout=500)
    assert driver.returncode == 3, said
    assert len(sweep.joined()) == 8
    (again,) = re.findall(r"with: seqsweep (run --shard \d/3); then collect", said)
    code, _, said = sweep.call(*again.split(), "--results", "elsewhere")
    assert code == 0, said
    assert sweep.call("collect", "elsewhere")[0] == 0
    assert sweep.joined() == expected
