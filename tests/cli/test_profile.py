"""`profile` on plugins of one family: a stage that takes long is the one that is seen to take long."""

import json
from functools import cache

import pytest

from tests.cli.conftest import call

pytestmark = pytest.mark.jax

SLEPT_S = 0.05
SLEEPS = """\
from impls.attention.workload import AttentionWorkload
from seqsweep import implementation, stage


@implementation(framework="torch", semantics="dense")
def sleeps(w: AttentionWorkload):
    import math
    import time

    import torch

    def attend(q, k, v):
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        with stage("score"):
            scores = q @ k.mT / math.sqrt(w.head_dim)
            time.sleep(0.05)
        with stage("mask"):
            future = torch.ones(w.seq, w.seq, dtype=torch.bool).triu(1)
            scores = scores.masked_fill(future, -math.inf)
        with stage("{name}"):
            return (scores.softmax(-1) @ v).transpose(1, 2)

    return attend
"""
BENCH = """\
default: [mla]
defaults: {budget: 100ms, timeout: 60s, memory: 4GiB}
suites:
  attention: {family: attention, seq: [16, 32], heads: 2, kv_heads: 2, head_dim: 16, impls: [dense]}
  mla: {family: mla, seq: [16, 32], config: small, mode: [fwd, fwd_bwd], baseline: naive, impls: [naive]}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("profile")
    (made / "bench.yaml").write_text(BENCH)
    (made / "sleeps.py").write_text(SLEEPS.replace("{name}", "attend"))
    (made / "misnames.py").write_text(SLEEPS.replace("{name}", "atend").replace("sleeps", "misnames"))
    return made


def profile(folder, *words):
    return call(folder, "profile", *words, "--json")


@pytest.fixture(scope="module")
def slept(folder):
    """Two lengths of an implementation that sleeps in a stage, without --mode."""
    said = profile(folder, "attention/sleeps", "--plugin", "sleeps.py", "--seq", "16,32")
    assert said.code == 0, said.err
    return said.json


def test_the_time_of_a_stage_is_that_of_its_own_code(slept):
    assert len(slept["profiles"]) == 2
    for case in slept["profiles"]:
        shares = {stage["stage"]: stage["share"]["value"] for stage in case["stages"]}
        assert {"score", "mask", "attend"} <= shares.keys()
        assert all(0 <= share <= 1 for share in shares.values()), shares
        score = next(stage for stage in case["stages"] if stage["stage"] == "score")
        assert score["time"]["value_s"] >= SLEPT_S, "no sleep is shorter, however busy the machine"
        assert score["operators"] >= 1
        assert score["flops"] > 0


@pytest.fixture(scope="module")
def operators(folder):
    """The profile of a case with its operators, and the events of its trace, by the implementation's name."""

    @cache
    def ask(name, mode):
        file = folder / f"{name}.json"
        words = ("--seq", "16", "--mode", mode, "--ops", "--trace", str(file), "--budget", "50ms")
        said = profile(folder, f"mla/{name}", *words)
        assert said.code == 0, said.err
        (case,) = said.json["profiles"]
        return case, json.loads(file.read_text())["traceEvents"]

    return ask


def test_a_compiled_program_is_timed_by_its_operators(operators):
    case, _ = operators("naive_jax", "fwd")
    stages = {stage["stage"]: stage for stage in case["stages"]}
    assert {"project", "expand", "scores", "softmax", "values", "output"} <= stages.keys()
    assert stages["output"]["flops"] == 2 * 16 * 2048 * 2048
    assert stages["output"]["entered"] is None


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "mode", "operator", "marked"),
    [("naive", "fwd_bwd", "aten::mm", "stage:output"), ("naive_jax", "fwd", "ynn_fusion", "ynn_fusion")],
)
def test_operators_have_their_stage_in_the_table_and_in_the_trace(operators, name, mode, operator, marked):
    case, events = operators(name, mode)
    assert any(each["operator"].startswith(operator) and each["stage"] for each in case["operators"])
    times = [each["seconds"] for each in case["operators"]]
    assert times == sorted(times, reverse=True)
    assert any(marked in event.get("name", "") for event in events)


def test_without_a_mode_forward_is_profiled(slept):
    assert {case["case"].split(":")[-2] for case in slept["profiles"]} == {"fwd"}
    assert [growth["stage"] for growth in slept["growth"]]


def test_a_stored_profile_is_read_again(in_process, folder, slept):
    (run,) = {record["run"] for record in slept["records"]}
    shown = in_process("show", "--run", run, "--json", folder=folder).json
    assert shown["profiles"] == slept["profiles"]
    assert shown["growth"] == slept["growth"]
    assert len(shown["records"]) == 2


@pytest.mark.full
def test_a_backward_is_a_stage(operators):
    both, _ = operators("naive", "fwd_bwd")
    assert "backward" in {stage["stage"] for stage in both["stages"]}


@pytest.mark.full
def test_a_stage_that_the_family_does_not_have_is_a_sentence(folder):
    said = profile(folder, "attention/misnames", "--plugin", "misnames.py", "--seq", "16")
    assert said.code == 3
    assert 'family attention has no stage "atend"' in said.err
    assert 'nearest: "attend"' in said.err
