"""Models in a plan: their fields become the workload's, several may share a case, and each ends somewhere."""

import pytest

from harness.catalog import discovery
from harness.core.errors import UsageError
from harness.sweep.config import load
from harness.sweep.overrides import Overrides
from harness.sweep.schedule import plan, suite_info

CATALOG = discovery.builtin()
BENCH = """\
suites:
  mask:
    family: mask
    model: [deepseek-v3.2, glm-5.2, deepseek-v4-flash]
    phase: chunk
    layers: 3
    seq: [8Ki, 256Ki, 512Ki]
    baseline: broadcast
    impls: [broadcast, scatter]
  mla: {family: mla, phase: [prefill, decode], seq: 64, impls: [naive, absorb]}
  attention: {family: attention, seq: [1Ki, 8Ki, 64Ki], heads: 4, kv_heads: 1, impls: [dense, nsa_mslk]}
"""


@pytest.fixture
def config(tmp_path):
    file = tmp_path / "bench.yaml"
    file.write_text(BENCH)
    return load(file)


def planned(config, suite, **overrides):
    return plan(config, CATALOG, [suite], Overrides(**overrides))


def of_models(*names, **more):
    return {"models": {"model": names, **more}}


def test_a_list_of_models_is_an_axis_whose_fields_are_the_workloads(config):
    (suite,) = planned(config, "mask").suites
    assert suite.axes["model"] == ["deepseek-v3.2 (chunk)", "glm-5.2 (chunk)", "deepseek-v4-flash (chunk)"]
    points = {(dict(case.workload)["topk"], dict(case.workload)["rows"]) for case in suite.cases}
    assert points == {(2048, 1024), (512, 1024)}
    assert {dict(case.workload)["dtype"] for case in suite.cases} == {"bf16"}


def test_what_two_models_have_in_common_is_one_case_of_both(config):
    (suite,) = planned(config, "mask").suites
    assert len(suite.cases) == len({case.id for case in suite.cases}) == 2 * 2 * 3
    first, second, third = suite.models
    assert set(first.cases) < set(second.cases)
    assert set(third.cases).isdisjoint(second.cases)
    assert [model.layers for model in suite.models] == [61, 21, 21]
    assert suite.layers is None


def test_a_case_beyond_every_models_context_is_impossible(config):
    schedule = planned(config, "mask")
    reasons = {skip.case.id: skip.reason for skip in schedule.skips}
    assert set(reasons.values()) == {"deepseek-v4-flash does this up to 256Ki; lower --seq"}
    assert {skip.remedy for skip in schedule.skips} == {"lower --seq"}
    assert {case.split("topk=")[1].split(":")[0] for case in reasons} == {"512"}
    deepseek, glm, _ = schedule.suites[0].models
    assert len(deepseek.cases) == 2  # its 160Ki positions end before 256Ki, which glm-5.2 reaches
    assert len(glm.cases) == 6


def test_a_suites_phase_is_the_models_only_where_it_names_one(config):
    assert planned(config, "mla").suites[0].axes["phase"] == ["prefill", "decode"]
    (suite,) = planned(config, "mla", **of_models("glm-5", tp=("8",), phase=("decode",))).suites
    fields = dict(suite.cases[0].workload)
    assert (fields["heads"], fields["phase"], fields["v"], fields["q_lora_rank"]) == (8, "decode", 256, 2048)
    assert suite.models[0].label == "glm-5 (tp 8, decode)"


def test_flags_win_over_the_model_and_are_told(config):
    (suite,) = planned(config, "attention", **of_models("qwen3-30b"), fields={"dtype": ("f32",)}).suites
    assert {dict(case.workload)["dtype"] for case in suite.cases} == {"f32"}
    assert {dict(case.workload)["heads"] for case in suite.cases} == {32}
    assert suite.models[0].label == "qwen3-30b (dtype set by hand)"


def test_a_phase_brings_the_implementations_that_answer_it(config):
    asked = of_models("qwen3-30b", phase=("decode",))
    (suite,) = planned(config, "attention", **asked).suites
    assert suite.implementations == tuple(
        f"attention/{name}" for name in ("dense_decode", "dense_decode_jax", "nsa_paper_decode")
    )
    assert suite.baseline == "attention/dense_decode"
    (chosen,) = planned(config, "attention", **asked, impls=("nsa_paper_decode",)).suites
    assert chosen.implementations == ("attention/nsa_paper_decode",)


def test_run_json_has_the_models_with_their_sources(config):
    info = suite_info(planned(config, "mask"))["mask"]
    assert [model["name"] for model in info["models"]] == ["deepseek-v3.2", "glm-5.2", "deepseek-v4-flash"]
    assert info["models"][2]["tokens"] == 4
    assert set(info["models"][0]["source"]) == {"repo", "path", "commit", "sha256", "preset"}
    assert "models" not in suite_info(planned(config, "attention"))["attention"]


@pytest.mark.parametrize("named", [[], ["mask", "mla", "attention"]])
def test_suites_are_left_out_where_the_model_has_nothing_of_them(config, named):
    schedule = plan(config, CATALOG, named, Overrides(**of_models("qwen3-30b")))
    assert [suite.name for suite in schedule.suites] == ["attention"]
    assert [why.split(":")[0] for why in schedule.left_out] == ["mask of qwen3-30b", "mla of qwen3-30b"]
    with pytest.raises(UsageError, match="unknown model"):
        plan(config, CATALOG, named, Overrides(**of_models("qwen-30b")))


def test_of_unlike_models_each_suite_takes_those_that_it_has_something_of(config):
    schedule = plan(config, CATALOG, ["mla", "attention"], Overrides(**of_models("qwen3-30b", "glm-5")))
    assert {suite.name: suite.axes["model"] for suite in schedule.suites} == {
        "mla": ["glm-5"],
        "attention": ["qwen3-30b"],
    }
    assert [why.split(": ")[0] for why in schedule.left_out] == ["mla of qwen3-30b", "attention of glm-5"]


def test_for_targets_that_are_not_at_hand_a_model_takes_what_can_be_planned_there(config):
    (mla,) = planned(config, "mla", **of_models("glm-5"), elsewhere=True).suites
    assert {"mla/naive_jax", "mla/absorb_jax", "mla/triton_prefill"} <= set(mla.implementations)
    (attention,) = planned(config, "attention", **of_models("qwen3-30b"), elsewhere=True).suites
    semantics = {CATALOG.implementation(name.split("[")[0]).semantics for name in attention.implementations}
    assert semantics == {"dense", "nsa_mslk"}  # what the suite lists, and nothing else of its family
    frameworks = {CATALOG.implementation(n.split("[")[0]).framework for n in attention.implementations}
    assert frameworks == {"jax", "pallas", "triton"}
    (mask,) = planned(config, "mask", elsewhere=True).suites
    assert mask.implementations == ("mask/broadcast", "mask/scatter")  # of jax already
    (named,) = planned(config, "mla", **of_models("glm-5"), impls=("naive",), elsewhere=True).suites
    assert named.implementations == ("mla/naive",)
    asked = of_models("qwen3-30b", phase=("decode",))
    (decode,) = planned(config, "attention", **asked, elsewhere=True).suites
    assert decode.implementations == ("attention/dense_decode_jax",)  # the paper's decode is of torch alone
