"""The main job through the command line, for real and small."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from harness.report.run_json import HEADER

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.jax


def descendants(pid):
    return psutil.Process(pid).children(recursive=True)


def living(processes):
    return [p for p in processes if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


def test_run_prints_one_object_with_every_part(measured):
    assert measured.code == 0
    figures = {"comparisons", "throughput", "scaling", "crossovers"}
    computed = figures | {"programs", "kernel_warnings", "largest"}
    assert set(measured.json) == {*HEADER, "records", *computed, "overhead"}
    assert measured.json["suites"]["mask"]["baseline"] == "mask/broadcast"
    assert {record["fingerprint"] for record in measured.json["records"]} <= set(
        measured.json["fingerprints"]
    )
    assert {record["status"] for record in measured.json["records"]} == {"ok"}
    assert len(measured.json["records"]) == 9


def test_every_record_has_evidence(measured):
    for record in measured.json["records"]:
        assert record["correctness"]["passed"]
        assert record["checks"] == [], "which are the business of `check`"
        assert record["timing"]["median_s"] > 0
        assert record["timing"]["method"] == "wall"
        host = record["static"]["host"]
        assert host["fits"] is True
        assert host["peak_bytes"] is None
        assert "peak_bytes" in host["unavailable"]
        assert host["program"].startswith("sha256:")


def test_what_is_computed_follows_from_the_records(measured):
    found, overhead = measured.json["comparisons"], measured.json["overhead"]
    assert [(one["suite"], one["baseline"]) for one in found] == [("mask", "mask/broadcast")] * 6
    by_key = {(s["implementation"], s["metric"]): s for s in measured.json["scaling"]}
    assert by_key["mask/broadcast", "flops"]["exponent"] == pytest.approx(1.0, abs=0.05)
    assert 0 < overhead["share"] <= 1
    assert overhead["work_s"] <= overhead["wall_s"]


def test_show_repeats_the_output_of_run(in_process, measured):
    assert in_process("show", "--json").json["comparisons"] == measured.json["comparisons"]
    said = in_process("show")
    assert said.code == 0
    assert "broadcast" in said.out
    assert "baseline" in said.out


def test_charts_are_drawn_and_stay_the_same(in_process, measured, project):
    first = in_process("chart", "--run", measured.json["run"], "--json").json["charts"]
    assert [path.rsplit("/", 1)[1] for path in first] == [
        "mask-latency.svg",
        "mask-speedup.svg",
        "mask-memory.svg",
        "mask-scaling.svg",
    ]
    before = [Path(path).read_bytes() for path in first]
    in_process("chart", "--run", measured.json["run"])
    assert [Path(path).read_bytes() for path in first] == before
    assert (project / "charts").is_dir()


@pytest.mark.full
def test_an_expected_failure_is_not_a_failure(seqsweep):
    said = seqsweep("run", "broken", "--json")
    by_name = {record["implementation"]: record for record in said.json["records"]}
    failing = by_name["offsets/compact_bincount"]
    assert said.code == 0
    assert failing["status"] == "incorrect"
    assert failing["expected"]
    assert failing["timing"] is None


def test_a_dry_run_counts_and_writes_nothing(in_process, tmp_path, project):
    (tmp_path / "bench.yaml").write_text((project / "bench.yaml").read_text())
    (suite,) = in_process("run", "--dry-run", "--json", folder=tmp_path).json["suites"]
    assert (suite["suite"], suite["axes"], suite["implementations"]) == ("mask", {"seq": 3}, 3)
    assert len(suite["cases"]) == 9
    assert suite["budget_s"] == pytest.approx(9 * 0.05)
    assert "mask   seq 3 × implementations 3" in in_process("run", "--dry-run", folder=tmp_path).out
    assert not (tmp_path / "results").exists()


@pytest.mark.long
def test_kill_then_resume(seqsweep, tmp_path, project, wait_until):
    """The whole run dies by SIGKILL; what it had written stays, and nothing it started lives on."""
    (tmp_path / "bench.yaml").write_text((project / "bench.yaml").read_text())
    (tmp_path / "tmp").mkdir()
    running = subprocess.Popen(
        [sys.executable, str(ROOT / "cli.py"), "run"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(
        lambda: any(path.stat().st_size for path in tmp_path.glob("results/runs/*/records.jsonl")), 120
    )
    below = descendants(running.pid)
    running.kill()
    running.wait()
    wait_until(lambda: not living(below), 60)
    assert below
    assert not living(below)

    said = seqsweep("run", "--resume", "--json", folder=tmp_path)
    assert said.code == 0
    cases = [record["case"] for record in said.json["records"]]
    assert len(cases) == len(set(cases)) == 9
    (stored,) = tmp_path.glob("results/runs/*/records.jsonl")
    assert sum('"append":[' in line for line in stored.read_text().splitlines()) == 9
