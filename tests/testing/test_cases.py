"""`check` and `measure` of a user's callables: passes, failures and errors."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.core.errors import UsageError
from harness.core.record import Checked
from harness.testing.cases import check, describe_failures, failures, measure
from harness.testing.target import find_target, plan_cases
from tests.records import FAILED, PASSED, record_of

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("kernels", Path(__file__).with_name("kernels.py"))
PLAIN = {"framework": "numpy", "semantics": "exact"}
SMALL = {"seq": 512, "topk": 64, "rows": 2}


@pytest.fixture(scope="module")
def kernels():
    module = importlib.util.module_from_spec(SPEC)
    sys.modules["kernels"] = module
    SPEC.loader.exec_module(module)
    yield module
    del sys.modules["kernels"]


@pytest.fixture(autouse=True)
def empty(tmp_path, monkeypatch):
    """An empty current folder, which must remain empty, and a temporary folder next to it."""
    (tmp_path / "here").mkdir()
    (tmp_path / "tmp").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    return tmp_path


def test_a_plain_callable_is_checked_against_its_family(kernels, empty):
    (record,) = check(kernels.opened, "mask", **PLAIN, **SMALL)
    assert (record.status, record.implementation, record.workload["topk"]) == ("ok", "mask/opened", 64)
    assert record.correctness.passed
    assert record.checks
    assert record.timing is None
    assert list((empty / "here").iterdir()) == []
    assert not list((empty / "tmp").glob("seqsweep-*/runs"))


def test_an_incorrect_callable_fails_with_figures_and_a_command(kernels, empty):
    with pytest.raises(AssertionError) as caught:
        check(kernels.one_further, "mask", checks=False, **PLAIN, **SMALL)
    said = str(caught.value)
    assert "incorrect: " in said
    assert "contract exact, the whole result compared: mismatches " in said
    command = next(line for line in said.splitlines() if line.startswith("rerun: "))
    words = command.removeprefix("rerun: seqsweep ").split()
    done = subprocess.run(
        [sys.executable, str(ROOT / "cli.py"), *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TMPDIR": str(empty / "tmp")},
    )
    assert done.returncode == 4, done.stderr
    assert "one_further" in done.stdout


def test_an_unchecked_case_fails(kernels):
    with pytest.raises(AssertionError, match="unsupported: seq is too odd; use another"):
        check(kernels.refusing, **SMALL)


def test_measure_returns_the_record(empty):
    record = measure("topk/partition", budget="50ms", results=empty / "kept", **SMALL)
    assert record.timing.median_s > 0
    assert record.seq == 512
    assert [path.name for path in (empty / "kept/runs").iterdir()] == [record.run]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"family": "msk"}, 'unknown family "msk"; nearest: "mask"'),
        ({"tpk": 64}, 'unknown workload field "tpk" of family mask; nearest: "topk"'),
        ({"baseline": "scatter"}, 'unknown workload field "baseline" of family mask'),
        ({"rows": 0}, "mask/opened: rows must be at least 1, not 0"),
        ({"mode": "fw"}, 'mask/opened: unknown mode "fw"; nearest: "fwd"'),
        ({"checks": "kept"}, 'unknown check "kept" of family mask; nearest: "kept_ties"'),
        ({"framework": "numpie"}, 'opened: unknown framework "numpie"; nearest: "numpy"'),
        ({"semantics": "exat"}, 'opened: unknown semantics "exat"; nearest: "exact"'),
        ({"framework": ""}, "needs family= and framework="),
        ({"budget": "soon"}, "budget"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(kernels, words, said):
    with pytest.raises(UsageError) as caught:
        check(kernels.opened, **{"family": "mask", **PLAIN, **SMALL, **words})
    assert said in str(caught.value)


def test_a_callable_that_cannot_be_imported_is_refused(kernels):
    for target in (kernels.hide(), lambda topk_indices: topk_indices):
        with pytest.raises(UsageError, match="define it at the top level of a file"):
            check(target, "mask", **PLAIN, **SMALL)


def test_measure_runs_a_single_case(kernels):
    with pytest.raises(UsageError, match="measure runs a single case"):
        measure(kernels.opened, "mask", **PLAIN, **{**SMALL, "rows": [2, 4]})


def test_a_case_has_the_familys_defaults_without_bench_yaml(kernels, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bench.yaml").write_text("suites: {broken")
    asked = find_target(tmp_path / "plugins", "mask/scatter", None)
    schedule = plan_cases(asked, {}, {"seq": ["4Ki", 8192], "rows": 8})
    cases = [(case.seq, dict(case.workload)["topk"]) for case in schedule.suites[0].cases]
    assert cases == [(4096, 2048), (8192, 2048)]


def test_a_name_may_contain_options(tmp_path):
    asked = find_target(tmp_path, "topk/two_stage[buckets=64]", None)
    (suite,) = plan_cases(asked, {"keep": 3}, {"seq": 4096}).suites
    assert suite.implementations == ("topk/two_stage[buckets=64,keep=3]",)


KEPT = Checked("mask/kept_count", "a threshold keeps more", passed=False, figures={"kept": 70})


def wrong(name="mine", seq=512, **more):
    return record_of(name, seq, status="incorrect", correctness=FAILED, reason="12 elements differ", **more)


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (record_of("mine", 512, correctness=PASSED), []),
        (wrong(), ["incorrect: 12 elements differ"]),
        (wrong(expected=True), []),
        (
            record_of("mine", 512, correctness=PASSED, expected=True),
            ["marked `expect=…` but passes its contract; remove the marker"],
        ),
        (record_of("mine", 512, status="unsupported"), ["unsupported: a sentence with a remedy"]),
        (record_of("mine", 512, status="oom", expected=True), ["oom: a sentence with a remedy"]),
        (record_of("mine", 512), ["the result was not checked"]),
        (
            record_of("mine", 512, correctness=PASSED, checks=(KEPT,)),
            ["check mask/kept_count: kept 70 (objection: a threshold keeps more)"],
        ),
    ],
)
def test_failures_are_described(record, said):
    assert failures(record) == said


def test_a_named_check_must_apply():
    record = record_of("mine", 512, correctness=PASSED)
    assert failures(record, ["mask/kept_count"]) == ["check mask/kept_count does not apply to this case"]


def test_the_message_names_case_contract_figures_and_the_command():
    records = [wrong(), record_of("mine", 1024, correctness=PASSED)]
    message = describe_failures(records, (), ["seqsweep", "check", "mask/mine[a=1]"], Path("/runs/1"))
    assert message.splitlines() == [
        "1 of 2 cases failed",
        "",
        records[0].case,
        "  incorrect: 12 elements differ",
        "  contract exact, the whole result compared: mismatches 12",
        "",
        "rerun: seqsweep check 'mask/mine[a=1]'",
        "records: /runs/1",
    ]
    assert describe_failures(records[1:], (), [], Path("/runs/1")) == ""


def test_control_characters_are_removed_from_the_message():
    record = record_of(
        "mine", 512, status="crashed", reason="it \x1b[31mbroke\x1b[0m\nhere", crash_file="c.txt"
    )
    message = describe_failures([record], (), [], Path("/runs/1"))
    assert "  crashed: it broke here\n  output of the process: /runs/1/c.txt\n" in message
