"""What bench.yaml and flags make of a catalog: suites, groups in their order, skips, what is left out.

`golden/plans.jsonl` has a case a line: a `bench` (or the one that tests share), a `catalog`, suites' `names`,
`flags`, packages that are not installed (`without`), and the plan. `golden/bench_refusals.jsonl` has what is
refused, with the whole sentence. `python -m tests.sweep.test_plans` writes both anew; read the difference.
"""

import json
import os
import tempfile
from functools import cache
from pathlib import Path

import pytest

from harness.catalog import discovery
from harness.core.errors import UsageError
from harness.core.version import version_of
from harness.sweep import select
from harness.sweep.config import load
from harness.sweep.overrides import Overrides
from harness.sweep.schedule import plan, suite_info
from tests.sweep.conftest import TWO_SUITES, planted_catalog, planted_plugin

GOLDEN = Path(__file__).parents[1] / "golden"
PLANS, REFUSALS = (
    [json.loads(line) for line in (GOLDEN / name).read_text(encoding="utf-8").splitlines()]
    for name in ("plans.jsonl", "bench_refusals.jsonl")
)
CATALOGS = {
    "planted": planted_catalog,
    "plugin": lambda: planted_catalog().merged(planted_plugin()),
    "builtin": cache(discovery.builtin),
}


def planned(bench=TWO_SUITES, catalog="planted", names=(), flags=None, without=None):
    Path("bench.yaml").write_text(bench)
    with pytest.MonkeyPatch.context() as patch:
        if without:
            patch.setattr(select, "version_of", lambda name: None if name in without else version_of(name))
        config, overrides = load(Path("bench.yaml")), Overrides(**(flags or {}))
        return plan(config, CATALOGS[catalog](), names, overrides, installed=without is not None)


def described(schedule):
    """The plan as plain data, without what the machine gives."""
    suites = suite_info(schedule)
    for suite in schedule.suites:
        suites[suite.name]["budget"] = suite.settings.budget_s
        for model in suites[suite.name].get("models", ()):
            model["source"] = sorted(model["source"])
    groups = {
        group.key: {
            "baselines": group.baselines,
            "limits": [group.settings.budget_s, group.settings.timeout_s],
        }
        for group in schedule.groups
    }
    skips = {skip.case.id: [skip.reason, skip.remedy] for skip in schedule.skips}
    plain = {"suites": suites, "groups": groups, "skips": skips, "left_out": schedule.left_out}
    return json.loads(json.dumps(plain))


@pytest.mark.parametrize("case", PLANS, ids=lambda case: case["name"])
def test_plans_match_the_golden_file(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = described(planned(**case["given"]))
    assert plan == case["plan"]
    assert list(plan["groups"]) == list(case["plan"]["groups"]), "lengths ascend"


def refusal(given):
    with pytest.raises(UsageError) as caught:
        planned(**given)
    assert caught.value.exit_code == 2
    return str(caught.value)


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case["says"][:60])
def test_mistakes_are_errors_with_place_and_remedy(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert refusal(case["given"]) == case["says"]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        plans = [{**one, "plan": described(planned(**one["given"]))} for one in PLANS]
        refusals = [{**one, "says": refusal(one["given"])} for one in REFUSALS]
    for name, found in (("plans.jsonl", plans), ("bench_refusals.jsonl", refusals)):
        text = "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in found)
        (GOLDEN / name).write_text(text, encoding="utf-8")
