"""What a finding saves in a step: the interval of the difference, times the layers of each model."""

from dataclasses import replace

import pytest

from harness.analysis.results import StepModel
from harness.report.answer import answer
from harness.report.finding import panel_finding
from harness.report.tables.suite import heading
from tests.report.charts.suites import record, suite, timing

SOURCE = {"repo": "org/configs", "path": "folder/m_config.json", "commit": "0123456789", "sha256": "0"}


def panel(own_s, *models, rounds=9):
    """`scatter` beside a broadcast of 1 ms at 16Ki."""
    base, own = timing(1e-3, spread=1e-6, rounds=rounds), timing(own_s, spread=1e-6, rounds=rounds)
    records = [record("broadcast", 16384, timing=base), record("scatter", 16384, timing=own)]
    cases = frozenset(r.case for r in records)
    return replace(
        suite(*records), models=tuple(StepModel(*model, cases=cases, source=SOURCE) for model in models)
    )


def step(own_s, *models, **more):
    finding = panel_finding(panel(own_s, *models, **more))
    assert finding is not None
    return finding.sentence().partition("; ")[2]


@pytest.mark.parametrize(
    ("own_s", "said"),
    [
        (0.4e-3, "saves 36.60 ms [36.60, 36.60] of a step of m (tp 8) at 64Ki on this machine: 61 layers"),
        (1.5e-3, "adds 30.50 ms [30.50, 30.50] to a step of m (tp 8) at 64Ki on this machine: 61 layers"),
    ],
)
def test_the_saving_of_all_layers_at_the_models_context(own_s, said):
    assert step(own_s, ("m (tp 8)", 61, 4)) == said


def test_an_interval_around_nothing_claims_nothing():
    said = step(1e-3, ("m", 61, 1))
    assert said.startswith("saves nothing certain, ")
    assert said.endswith(", of a step of m at 16Ki on this machine: 61 layers")


def test_too_few_rounds_are_told():
    assert "(no interval) of a step of m" in step(0.4e-3, ("m", 1, 1), rounds=3)
    assert "adds 600 µs (no interval) to a step of m" in step(1.6e-3, ("m", 1, 1), rounds=3)


def test_models_that_share_a_case_have_a_saving_each():
    said = step(0.4e-3, ("full", 60, 1), ("shared", 20, 1))
    assert "saves 36.00 ms [36.00, 36.00] of a step of full" in said
    assert "saves 12.00 ms [12.00, 12.00] of a step of shared" in said


def test_the_answer_names_what_is_saved_and_where_the_fields_come_from():
    shown = panel(0.4e-3, ("m", 61, 1))
    lines = answer(shown)
    assert any(line.startswith("scatter saves 36.60 ms") for line in lines)
    assert lines[-1] == "Fields of m: org/configs@0123456, m_config.json, sha256 0."
    assert heading(shown).startswith("mask: m: ")


def test_without_a_model_nothing_is_said():
    assert step(0.4e-3) == ""
    assert heading(panel(0.4e-3)).startswith("mask: batch") or "m: " not in heading(panel(0.4e-3))
