"""Timed `gate` on calls of a microsecond: storage, faults and output, without checking verdicts."""

import signal
from types import SimpleNamespace

import psutil
import pytest

from harness.gate.outcome import WEIGHT

pytestmark = pytest.mark.long  # takes minutes; decisions are tested with a fake clock

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
# A budget that is enough on a loaded machine; the number of pairs in a budget is tested with a fake clock.
FOUR_PAIRS = ("--max-pairs", "4", "--delta", "90%", "--budget", "3600s")
SELF_CHECK = ("calm", "--self-check", *FOUR_PAIRS)
CASES = [f"points/{name}@seq={seq}:fwd:cpu" for seq in (64, 128) for name in ("adds", "sums")]


@pytest.fixture(scope="module")
def work(repositories, plugin_of):
    made = repositories("work")
    made.commit({"bench.yaml": BENCH, "kernels.py": plugin_of(**BEFORE), ".gitignore": "results/\n"}, "good")
    made.write({"kernels.py": plugin_of(**AFTER)})
    return made


@pytest.fixture(scope="module")
def checked(work, gate, tmp_path_factory):
    """A complete self-check."""
    results = tmp_path_factory.mktemp("results")
    words = (*SELF_CHECK, "--results", str(results), "--json")
    return SimpleNamespace(results=results, said=gate(work, *words))


def test_ctrl_c_leaves_no_gate(work, start, gate, wait_until, tmp_path):
    running = start(work, *SELF_CHECK, "--results", str(tmp_path))
    assert wait_until(lambda: list(tmp_path.glob("gates/*")), 120)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "seqsweep: stopped"
    assert list(tmp_path.glob("gates/*")) == []
    last = gate(work, "--last", "--results", str(tmp_path))
    assert (last.code, "no gate is stored" in last.err) == (2, True)


def test_a_self_check_reports_every_case(checked):
    data = checked.said.json
    assert sorted(case["case"] for case in data["cases"]) == sorted(CASES)
    assert {case["verdict"] for case in data["cases"]} <= set(WEIGHT)
    assert all(case["reason"] and case["pairs"] >= 4 for case in data["cases"]), data["cases"]
    assert all(case["low"] <= case["effect"] <= case["high"] for case in data["cases"])
    assert data["kind"] == "time"
    assert data["self_check"] is True
    assert data["slowdown"] == {"calm": 0.9}
    assert data["notes"][-1].startswith("equal sides differ by ")


def test_the_last_gate_is_shown_again(work, gate, checked):
    results = ("--results", str(checked.results))
    assert gate(work, "--last", "--json", *results).json == checked.said.json
    said = gate(work, "--last", "--explain", "points/sums@seq=128*", *results)
    assert said.code == checked.said.code
    assert "points/sums@seq=128:fwd:cpu: " in said.out
    assert "pairs of processes" in said.out
    for pattern, says in (
        ("points/smus@*", 'nearest: "points/sums@*"'),
        ("points/sums@*", "matches 2 cases"),
    ):
        unknown = gate(work, "--last", "--explain", pattern, *results)
        assert unknown.code == 2
        assert says in unknown.err


def test_an_unwritable_report_is_not_a_regression(work, gate, start, checked, tmp_path):
    """Exit code 1 means regressed, and is also Python's code for any error."""
    (tmp_path / "file").touch()
    again = ("--last", "--results", str(checked.results))
    page = gate(work, *again, GITHUB_STEP_SUMMARY=str(tmp_path / "file" / "page.md"))
    assert page.code == checked.said.code
    assert "GITHUB_STEP_SUMMARY" in page.err
    report = gate(work, *again, "--junit", str(tmp_path / "file" / "gate.xml"))
    assert report.code == 2, "told before anything is measured"
    assert report.err.startswith("seqsweep: --junit ")
    unread = start(work, *again)
    unread.stdout.close()
    unread.stderr.read()
    unread.stderr.close()
    assert unread.wait(60) == 5


def test_a_case_that_ends_its_process_is_invalid_and_others_are_measured(work, gate, tmp_path, left_behind):
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


def test_a_killed_gate_does_not_affect_the_next(work, gate, start, wait_until, tmp_path, left_behind):
    running = start(work, "calm", "--against", "git:HEAD", "--max-pairs", "4", "--results", str(tmp_path))
    gate_process, below = psutil.Process(running.pid), []

    def has_started():
        if not below and len(work("worktree", "list").splitlines()) == 2:
            below.extend(gate_process.children(recursive=True))
        return below

    assert wait_until(has_started, 120)
    running.kill()
    running.communicate()
    gone = wait_until(
        lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in below), 2
    )
    assert gone
    assert gate(work, "calm", "--static", "--against", "git:HEAD", "--cases", CASES[0]).code == 0
    assert len(work("worktree", "list").splitlines()) == 1
    assert left_behind() == []
