"""Static comparison with another environment: figures, and versions that differ."""

import platform

import pytest

from harness.catalog import child_process
from harness.catalog.known_frameworks import versions
from harness.core.static_figures import Static
from harness.gate.outcome import IMPROVED, NEW, REGRESSED, UNCHANGED, VANISHED
from harness.gate.static.run import BaseFigures, changes_since
from tests.records import kernel_of, record_of, static_of

TPU, GPU = "tpu:v5p", "cuda:h100"


def compiled(name="scatter", target="host", **figures):
    whole = {"argument_bytes": 8, "output_bytes": 8, "temp_bytes": 100, "flops": 7, "program": "sha256:1"}
    return record_of(name, 1024, static={target: static_of(**{**whole, **figures})})


def outcome_of(before, now, target="host"):
    figures = {(each.case, target): each.static[target] for each in before}
    return changes_since(BaseFigures("py:old", figures), now, target)


@pytest.mark.parametrize(
    ("figures", "verdict", "code", "says"),
    [
        ({}, UNCHANGED, 0, "same program"),
        ({"program": "sha256:2"}, UNCHANGED, 0, "same figures"),
        ({"temp_bytes": 300, "program": "sha256:2"}, REGRESSED, 1, "temp 100 B -> 300 B"),
        ({"flops": 3}, IMPROVED, 0, "FLOPs 7 -> 3"),
    ],
)
@pytest.mark.parametrize("target", ["host", TPU])
def test_each_figure_is_compared_with_the_base(figures, verdict, code, says, target):
    before, now = compiled(target=target), compiled(target=target, **figures)
    outcome = outcome_of([before], [now], target)
    (case,) = outcome.cases
    assert (case.verdict, outcome.exit_code) == (verdict, code)
    assert outcome.base == f"py:old, for {target}"
    assert says in case.reason


def test_registers_and_spills_are_compared_too():
    before, now = (
        compiled(target=GPU, kernels=(kernel_of(registers=count, spilled_bytes=spilled),))
        for count, spilled in ((168, 0), (255, 64))
    )
    (case,) = outcome_of([before], [now], GPU).cases
    assert case.verdict == REGRESSED
    assert "spilled" in case.reason


def test_reasons_do_not_mention_accepted_changes():
    before, now = (compiled(custom_calls=calls) for calls in ((), ("TopK",)))
    (case,) = outcome_of([before], [now]).cases
    assert case.reason.startswith("new custom call TopK: ")
    assert "bench.yaml" not in case.reason


def test_cases_may_be_new_or_vanished_or_compile_on_neither_side():
    none = {"host": Static.none("refused by the compiler")}
    found, lost, never = compiled("found"), compiled("lost"), record_of("never", 1024, static=none)
    gone, absent = record_of("lost", 1024, static=none), record_of("found", 1024, static=none)
    outcome = outcome_of([absent, lost, never], [found, gone, never])
    assert {case.case.partition("@")[0]: case.verdict for case in outcome.cases} == {
        "mask/found": NEW, "mask/lost": VANISHED,
    }  # fmt: skip
    assert outcome.exit_code == 3
    (why,) = outcome.left_out.values()
    assert "refused by the compiler" in why


@pytest.mark.full
def test_another_interpreter_reports_its_versions():
    own = child_process.ask(["harness.catalog.discovery", "--versions"], 60.0)
    assert own == versions()
    assert own["python"] == platform.python_version()
