"""`dispatch`: the generated Python runs, cites its run, and survives any names."""

import ast
import json
from dataclasses import replace

import pytest

from harness.analysis.choices import suite_choices
from harness.commands.app import app
from harness.commands.choose import choose_function
from harness.commands.exit_codes import call_app
from harness.store.runs import RunFolder
from tests.analysis.conftest import suite_of
from tests.analysis.test_choices import measured, power
from tests.goldens import assert_golden
from tests.records import record_of

RUN = "20261120T113000Z-1a2b3c4"
INFO = {"fingerprints": {"sha256:1": {"cpu": "EPYC", "threads": 2}}}
CROSSING = {"base": power(1, 1), "flat": power(1, 0)}
TEST = "test_choose_returns_no_implementation_that_another_beats_beyond_the_interval"


def written(records, info=INFO, *, inexact=False, **changed):
    return choose_function(suite_choices(replace(suite_of(records), **changed), {}, inexact=inexact), info)


def run(code):
    names = {}
    exec(compile(code, "dispatch.py", "exec"), names)
    return names


def approximated():
    """The baseline without its longest length, which took too much memory, and an approximation."""
    exact = [record for record in measured({"base": power(1, 1)}) if record.seq < 65536]
    other = measured({"approximate": power(0.1, 1)}, semantics="approximate")
    return [*exact, *other, record_of("base", 65536, status="oom")]


def by_axes():
    fast, slow = power(0.1, 1), power(9, 1)
    return [
        *measured({"base": power(1, 1), "it": fast}, workload={"rows": 8, "causal": True, "kind": 'a"b'}),
        *measured({"base": power(1, 1), "it": slow}, workload={"rows": 64, "causal": False, "kind": "c"}),
    ]


def test_the_functions_equal_the_golden_file():
    """A crossover, a tie, several axes, and implementations that are not considered, with reasons."""
    backward = [*approximated(), record_of("approximate", 4096, mode="fwd_bwd", status="oom")]
    texts = [
        written(measured(CROSSING, fingerprint="sha256:1")),
        written(measured({"base": power(1, 1), "fast": power(0.1, 1)}, rounds=5)),
        written(by_axes()),
        written(approximated()),
        written(approximated(), inexact=True),
        written(backward, inexact=True),
    ]
    assert_golden("dispatch.txt", "\n\n\n".join(texts))
    for text in texts:
        run(text)[TEST]()


def test_the_function_chooses_the_fastest():
    choose = run(written(measured(CROSSING)))["choose"]
    assert [choose(seq) for seq in (1, 16383, 16384, 1 << 30)] == [*["mask/base"] * 2, *["mask/flat"] * 2]
    choose = run(written(by_axes()))["choose"]
    assert choose(1024, True, 'a"b', 8) == "mask/it"
    assert choose(1024, False, "c", 64) == choose(1024, True, "c", 8) == "mask/base"


def test_its_test_fails_for_a_wrong_function():
    names = run(written(measured(CROSSING)).replace('    return "mask/base"', '    return "mask/flat"'))
    with pytest.raises(AssertionError, match=r"\(1024,\)"):
        names[TEST]()


def test_foreign_names_stay_within_comments_and_strings():
    hostile = 'x\n\nimport os  # """\r\x1b[31m\u2028raise SystemExit'
    records = measured(CROSSING, fingerprint="sha256:1", workload={"kind": hostile})
    records += measured({"base": power(1, 1)}, fingerprint="sha256:1", workload={"kind": "plain"})
    code = written(records, info={"fingerprints": {"sha256:1": {"cpu": hostile}}}, name=hostile)
    kinds = [type(statement).__name__ for statement in ast.parse(code).body]
    assert kinds == ["FunctionDef", "Assign", "FunctionDef"]
    assert run(code)["choose"](65536, hostile) == "mask/flat"
    assert all(len(line) <= 110 for line in code.splitlines() if line.lstrip().startswith("#"))


@pytest.fixture
def dispatch(tmp_path, capsysbinary):
    records, labels = measured(CROSSING), ["mask/base", "mask/flat"]
    cases = [record.case for record in records]
    suite = {"family": "mask", "baseline": "mask/base", "implementations": labels}
    suites = {"one": {**suite, "cases": cases}, "two": {**suite, "cases": cases[:2]}}
    RunFolder.create(tmp_path, RUN, {"suites": suites}).append(records)

    def call(*words):
        code = call_app(app, ["dispatch", *words, "--results", str(tmp_path)])
        return code, *(part.decode() for part in capsysbinary.readouterr())

    return call


def test_a_file_gets_the_text_of_standard_output(dispatch, tmp_path):
    file = tmp_path / "choose.py"
    assert dispatch("one", "--into", str(file)) == (0, "", f"wrote {file}\n")
    assert dispatch("one") == (0, file.read_text(), "")


def test_json_has_the_choices_and_the_code(dispatch):
    found = json.loads(dispatch("one", "--json")[1])
    assert found["code"].startswith("# Suite one, by seqsweep dispatch from run")
    first, second = found["points"][0]["choices"]
    known = first["implementation"], first["speedup"]["value"], first["dead_zone"]
    assert known == ("mask/base", None, None)
    assert (second["implementation"], second["former"], second["at"]) == ("mask/flat", "mask/base", 16384)
    assert second["dead_zone"] == [4097, second["first"]]


def test_another_baseline_is_the_default_and_one_suite_must_be_named(dispatch):
    assert "as fast as mask/flat at 1Ki" in dispatch("one", "--baseline", "flat", "--seq", "1Ki,64Ki")[1]
    code, _, err = dispatch()
    assert code == 2
    assert "dispatch needs exactly one suite, and the run has one, two; name one" in err
