"""The text of `choose`: Python that runs, says on what it rests, and holds whatever it is named by."""

import ast
from dataclasses import replace

import pytest

from harness.analysis.choices import suite_choices
from harness.commands.choose import choose_function
from tests.analysis.conftest import suite_of
from tests.analysis.test_choices import GRID, measured, power
from tests.records import record_of

INFO = {"fingerprints": {"sha256:1": {"cpu": "EPYC", "threads": 2}}}
CROSSING = {"base": power(1, 1), "flat": power(1, 0)}


def written(records, defaults=None, info=INFO, **changed):
    suite = replace(suite_of(records), **changed)
    return choose_function(suite_choices(suite, defaults or {}), info)


def run(code):
    names = {}
    exec(compile(code, "dispatch.py", "exec"), names)
    return names


def test_the_function_calls_what_is_fastest_and_its_test_holds():
    code = written(measured(CROSSING, fingerprint="sha256:1"))
    names = run(code)
    assert [names["choose"](seq) for seq in (1, 1024, 8192, 9000, 1 << 30)] == [
        *["mask/base"] * 3,
        *["mask/flat"] * 2,
    ]
    names["test_choose_calls_nothing_that_another_is_faster_than_beyond_the_interval"]()
    assert "from run 20261120T113000Z-1a2b3c4 · fingerprint 1 (EPYC, 2 threads) · wall" in " ".join(
        code.replace("# ", "").split()
    )
    assert "# mask/flat is 2.03× [1.92, 2.06] as fast as mask/base at 16Ki, within one process." in code
    assert "# Undecided from 7949 to 8526: mask/base is kept." in code


def test_its_test_fails_where_the_function_is_wrong():
    names = run(written(measured(CROSSING)).replace('    return "mask/base"', '    return "mask/flat"'))
    with pytest.raises(AssertionError, match=r"\(1024,\)"):
        names["test_choose_calls_nothing_that_another_is_faster_than_beyond_the_interval"]()


def test_other_axes_are_arguments_and_elsewhere_the_baseline_is_called():
    fast, slow = power(0.1, 1), power(9, 1)
    records = [
        *measured({"base": power(1, 1), "it": fast}, workload={"rows": 8, "causal": True, "kind": 'a"b'}),
        *measured({"base": power(1, 1), "it": slow}, workload={"rows": 64, "causal": False, "kind": "c"}),
    ]
    code = written(records)
    assert "def choose(seq: int, causal: bool, kind: str, rows: int) -> str:" in code
    names = run(code)
    assert names["choose"](1024, True, 'a"b', 8) == "mask/it"
    assert names["choose"](1024, False, "c", 64) == "mask/base"
    assert names["choose"](1024, True, "c", 8) == "mask/base"
    names["test_choose_calls_nothing_that_another_is_faster_than_beyond_the_interval"]()


def test_names_of_others_stay_within_comments_and_strings():
    hostile = 'x\n\nimport os  # """\r\x1b[31m\u2028raise SystemExit'
    records = measured(CROSSING, fingerprint="sha256:1", workload={"kind": hostile})
    records += measured({"base": power(1, 1)}, fingerprint="sha256:1", workload={"kind": "plain"})
    code = written(records, info={"fingerprints": {"sha256:1": {"cpu": hostile}}}, name=hostile)
    kinds = [type(statement).__name__ for statement in ast.parse(code).body]
    assert kinds == ["FunctionDef", "Assign", "FunctionDef"]
    assert run(code)["choose"](65536, hostile) == "mask/flat"
    assert all(len(line) <= 110 for line in code.splitlines() if line.lstrip().startswith("#"))


def test_a_tie_says_who_leads_at_which_lengths():
    code = written(measured({"base": power(1, 1), "fast": power(0.1, 1)}, rounds=5))
    assert "# Undecided at 1Ki, 4Ki, 16Ki, 64Ki: mask/fast has the lower median." in code
    assert f"({GRID[0]},): " in code


def test_a_reader_is_told_what_answers_otherwise_and_who_was_no_candidate_where():
    other = [record for record in measured({"base": power(1, 1)}) if record.seq < 65536]
    other += measured({"approximate": power(0.1, 1)}, semantics="approximate")
    suite = suite_of([*other, record_of("base", 65536, status="oom")])
    head = choose_function(suite_choices(suite, {}, inexact=True), INFO).partition("def choose")[0]
    assert "# mask/base is no candidate at 64Ki (oom)." in head
    assert "# mask/approximate is not mathematically equivalent to mask/base." in head
    backward = suite_of([*other, record_of("approximate", 4096, mode="fwd_bwd", status="oom")])
    head = choose_function(suite_choices(backward, {}, inexact=True), INFO).partition("def choose")[0]
    assert "# mask/approximate is no candidate at 4Ki with mode=fwd_bwd (oom)." in head
    exact = choose_function(suite_choices(suite, {}), INFO).partition("def choose")[0]
    assert "mask/approximate is no candidate (not mathematically equivalent" in exact
    assert "is not mathematically" not in exact
