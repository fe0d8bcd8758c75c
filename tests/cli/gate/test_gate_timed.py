"""`gate` with a clock on calls of a microsecond: what it keeps, survives and says, and no verdict's value."""

import json
import signal
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import psutil
import pytest

from harness.gate.outcome import WEIGHT

pytestmark = pytest.mark.long  # minutes by the clock; what decides is tested with a clock of its own

BENCH = """\
plugins: [kernels.py]
defaults: {memory: 4GiB, timeout: 60s}
suites:
  calm: &points
    family: points
    seq: [64, 128]
    impls: [adds, sums]
  killers: {<<: *points, seq: 64, impls: [leaves, adds, is_killed, leaves_late, sums]}
"""
ADDS = "return lambda x: x + x"
BEFORE = dict.fromkeys(["adds", "sums", "leaves", "is_killed", "leaves_late"], ADDS)
LATE = """\
import os
calls = []

def double(x):
    calls.append(x.size)
    return x + x if len(calls) < 500 else os._exit(3)

return double"""
AFTER = {
    **BEFORE,
    "leaves": "import os\nreturn lambda x: os._exit(3)",
    "is_killed": "import os, signal\nreturn lambda x: os.kill(os.getpid(), signal.SIGKILL)",
    "leaves_late": LATE,
}
# A budget that no load of the machine exhausts: how many pairs fit into one is tested with a fake clock.
FOUR_PAIRS = ("--max-pairs", "4", "--delta", "90%", "--budget", "3600s")
SELF_CHECK = ("calm", "--self-check", *FOUR_PAIRS)
CASES = [f"points/{name}@seq={seq}:fwd:cpu" for seq in (64, 128) for name in ("adds", "sums")]


@pytest.fixture(scope="module")
def work(repositories, plugin_of):
    made = repositories("work")
    made.commit({"bench.yaml": BENCH, "kernels.py": plugin_of(**BEFORE), ".gitignore": "results/\n"}, "good")
    made.write({"kernels.py": plugin_of(**AFTER)})
    return made


def pairs(results):
    """(pair, case) of every line that a gate has kept."""
    (file,) = results.glob("gates/*/pairs.jsonl")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return [(line["pair"], line["case"]) for line in lines]


def kept(results, number):
    """Whether lines of that pair are there. The write itself may still be interrupted, and undone."""
    return lambda: any(
        f'{{"pair":{number},' in file.read_text() for file in results.glob("gates/*/pairs.jsonl")
    )


@pytest.fixture(scope="module")
def interrupted(work, start, gate, wait_until, tmp_path_factory):
    """A self-check that Ctrl-C stopped after its first pair."""
    results = tmp_path_factory.mktemp("results")
    running = start(work, *SELF_CHECK, "--results", str(results))
    assert wait_until(kept(results, 2), 120)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    last = gate(work, "--last", "--results", str(results))
    return SimpleNamespace(
        results=results, code=running.returncode, out=out, err=err, kept=pairs(results), last=last
    )


@pytest.fixture(scope="module")
def resumed(work, gate, interrupted):
    """The same gate, gone on with."""
    report = interrupted.results / "gate.xml"
    words = (*SELF_CHECK, "--results", str(interrupted.results), "--resume", "--json", "--junit", str(report))
    return gate(work, *words)


def test_ctrl_c_says_how_to_go_on(interrupted):
    assert interrupted.code == 130
    assert interrupted.out == ""
    folder, again, end = interrupted.err.splitlines()[-3:]
    assert str(interrupted.results) in folder
    assert again.startswith(f"resume with: seqsweep gate {' '.join(SELF_CHECK)}")
    assert again.endswith("--resume")
    assert end == "seqsweep: stopped"


def test_only_whole_pairs_are_kept(interrupted):
    numbers = sorted({number for number, _ in interrupted.kept})
    assert numbers[0] == 1
    assert sorted(interrupted.kept) == sorted((number, case) for number in numbers for case in CASES)


def test_the_last_gate_was_interrupted_and_says_how_to_go_on(interrupted):
    assert interrupted.last.code == 2
    assert "was interrupted; go on with: seqsweep gate calm" in interrupted.last.err


def test_resuming_measures_nothing_twice(interrupted, resumed):
    found = pairs(interrupted.results)
    assert found[: len(interrupted.kept)] == interrupted.kept
    assert len(set(found)) == len(found) >= 4 * len(CASES), resumed.json["cases"]
    assert resumed.json["exit_code"] == resumed.code


def test_a_self_check_says_everything_about_every_case(resumed):
    data = resumed.json
    assert sorted(case["case"] for case in data["cases"]) == sorted(CASES)
    assert {case["verdict"] for case in data["cases"]} <= set(WEIGHT)
    assert all(case["reason"] and case["pairs"] >= 4 for case in data["cases"]), data["cases"]
    assert all(case["low"] <= case["effect"] <= case["high"] for case in data["cases"])
    assert data["kind"] == "time"
    assert data["self_check"] is True
    assert data["slowdown"] == {"calm": 0.9}


def test_junit_has_a_test_per_case(interrupted, resumed):
    root = ET.parse(interrupted.results / "gate.xml").getroot()
    assert sorted(test.get("name") for test in root.iter("testcase")) == sorted(CASES)


def test_the_last_gate_is_shown_again(work, gate, interrupted, resumed):
    results = ("--results", str(interrupted.results))
    assert gate(work, "--last", "--json", *results).json == resumed.json
    said = gate(work, "--last", "--explain", "points/sums@seq=128*", *results)
    assert said.code == resumed.code
    assert "points/sums@seq=128:fwd:cpu: " in said.out
    assert "first pairs" in said.out
    for pattern, says in (("points/smus@*", 'nearest: "points/sums@*"'), ("points/sums@*", "means 2 cases")):
        unknown = gate(work, "--last", "--explain", pattern, *results)
        assert unknown.code == 2
        assert says in unknown.err


def test_what_cannot_be_written_is_no_regression(work, gate, start, interrupted, resumed, tmp_path):
    """1 says regressed, and is Python's own code for whatever goes wrong."""
    (tmp_path / "file").touch()
    again = ("--last", "--results", str(interrupted.results))
    page = gate(work, *again, GITHUB_STEP_SUMMARY=str(tmp_path / "file" / "page.md"))
    assert page.code == resumed.code
    assert "GITHUB_STEP_SUMMARY" in page.err
    report = gate(work, *again, "--junit", str(tmp_path / "file" / "gate.xml"))
    assert report.code == 2, "told before anything is measured"
    assert report.err.startswith("seqsweep: --junit ")
    unread = start(work, *again)
    unread.stdout.close()
    unread.stderr.read()
    unread.stderr.close()
    assert unread.wait(60) == 5


def test_a_case_that_ends_its_process_is_invalid_and_its_neighbours_are_measured(
    work, gate, tmp_path, left_behind
):
    words = ("killers", "--against", "git:HEAD", *FOUR_PAIRS, "--json")
    said = gate(work, *words, "--results", str(tmp_path))
    found = {case["case"].split("@")[0].split("/")[1]: case for case in said.json["cases"]}
    assert said.code == 4
    for name in ("leaves", "is_killed", "leaves_late"):
        assert found[name]["verdict"] == "invalid"
        assert found[name]["reason"].startswith("the candidate ended its process")
        assert found[name]["effect"] is None
    assert "SIGKILL" in found["is_killed"]["reason"]
    assert all(found[name]["pairs"] >= 4 for name in ("adds", "sums")), found
    assert left_behind() == []


def test_a_killed_gate_leaves_nothing_to_the_next(work, gate, start, wait_until, tmp_path, left_behind):
    running = start(work, "calm", "--against", "git:HEAD", "--max-pairs", "4", "--results", str(tmp_path))
    assert wait_until(kept(tmp_path, 1), 120)
    below = psutil.Process(running.pid).children(recursive=True)
    assert len(work("worktree", "list").splitlines()) == 2
    running.kill()
    running.communicate()
    gone = wait_until(
        lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in below), 2
    )
    assert below
    assert gone
    assert gate(work, "calm", "--static", "--against", "git:HEAD", "--cases", CASES[0]).code == 0
    assert len(work("worktree", "list").splitlines()) == 1
    assert left_behind() == []
