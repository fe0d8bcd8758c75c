"""The sentence about a panel: a crossover only between intervals that exclude 1, and what a step saves."""

from dataclasses import replace

import pytest

from harness.analysis.results import StepModel
from harness.report.answer import answer
from harness.report.finding import headline, panel_finding
from harness.report.tables.suite import heading
from tests.report.charts.suites import record, suite, timing

K = 1024
LENGTHS = (4 * K, 8 * K, 16 * K)


def panel(*speedups, wide=(), few=(), **more):
    """`scatter` beside broadcast, by length; `wide` places have an interval of ±50 %, `few` have none."""
    records = []
    for place, speedup in enumerate(speedups):
        spread, rounds = (0.5 if place in wide else 0.01), (3 if place in few else 9)
        base = timing(1e-3, spread=1e-6, rounds=rounds)
        own = timing(1e-3 / speedup, spread=spread, rounds=rounds)
        seq = LENGTHS[place]
        records += [record("broadcast", seq, timing=base), record("scatter", seq, timing=own, **more)]
    return suite(*records)


def sentence(*speedups, **places):
    finding = panel_finding(panel(*speedups, **places))
    assert finding is not None
    return finding.sentence()


@pytest.mark.parametrize(
    ("speedups", "wide", "expected"),
    [
        ((0.5, 0.8, 2.0), (), "scatter beats broadcast from 16Ki: 2.00×"),
        ((0.5, 1.5, 2.0), (), "scatter beats broadcast from 8Ki: 2.00× at 16Ki"),
        ((0.5, 1.1, 2.0), (1,), "scatter beats broadcast from 16Ki: 2.00×"),
        ((0.9, 1.1, 2.0), (0, 1), "undecided until 8Ki, then scatter beats broadcast: 2.00× at 16Ki"),
        ((1.0, 1.0, 2.0), (), "about the same until 8Ki, then scatter beats broadcast: 2.00× at 16Ki"),
        ((1.0, 1.0, 2.0), (1,), "undecided until 8Ki, then scatter beats broadcast: 2.00× at 16Ki"),
        ((1.5, 1.1, 2.0), (1,), "scatter beats broadcast: 2.00× at 16Ki"),
        ((1.5, 1.8, 2.0), (), "scatter beats broadcast at every length: 2.00× at 16Ki"),
        ((2.0,), (), "scatter beats broadcast: 2.00× at 4Ki"),
        ((1.5, 1.2, 0.5), (), "scatter beats broadcast until 8Ki only: 0.500× at 16Ki"),
        ((1.5, 1.1, 1.1), (1, 2), "scatter beats broadcast until 4Ki, then undecided: 1.1× at 16Ki"),
        ((1.5, 1.0, 1.0), (), "scatter beats broadcast until 4Ki, then about the same: 1.00× at 16Ki"),
        ((1.5, 1.0, 1.0), (1,), "scatter and broadcast are about the same: 1.00× at 16Ki"),
        ((1.1, 1.5, 1.1), (0, 2), "scatter against broadcast: undecided, 1.1× at 16Ki"),
        (
            (1.1, 1.1, 0.5),
            (0, 1),
            "undecided until 8Ki, then nothing beats broadcast: scatter is closest, 0.500× at 16Ki",
        ),
        ((0.9, 0.8, 0.5), (), "nothing beats broadcast at 16Ki: scatter is closest, 0.500×"),
    ],
)  # fmt: skip
def test_the_sentence_says_where_and_by_how_much(speedups, wide, expected):
    assert sentence(*speedups, wide=wide) == expected


def test_without_any_interval_the_rounds_are_told():
    said = sentence(0.5, 2.0, few=(0, 1))
    why = "(no interval: needs ≥ 6 rounds; has 3)"
    assert said == f"scatter against broadcast: faster in each of 3 rounds, 2.0× at 8Ki {why}"
    split = sentence(1.1, wide=(0,), few=(0,))
    assert split == f"scatter against broadcast: undecided, 1.1× at 4Ki {why}"


def test_a_crossover_beside_a_length_without_an_interval_is_not_claimed():
    assert sentence(0.5, 1.5, 2.0, few=(0,)) == "scatter beats broadcast: 2.00× at 16Ki"
    fastest = "scatter beats broadcast at every length: 200× at 16Ki (no interval)"
    assert sentence(1.5, 1.5, 200.4, few=(2,)) == fastest


def test_of_several_that_win_the_one_that_gives_the_same_answer_is_named():
    fast = record("raw", 4 * K, timing=timing(1e-4), semantics="threshold")
    both = suite(*panel(2.0).records, fast)
    finding = panel_finding(both)
    assert finding is not None
    assert (finding.implementation, finding.semantics) == ("scatter", None)
    alone = panel_finding(suite(both.records[0], fast))
    assert alone is not None
    assert alone.sentence() == "raw beats broadcast: 10.0× at 4Ki (not mathematically equivalent)"


def test_the_baselines_own_program_is_about_the_same_whatever_was_timed():
    fallen = panel(1.5, 2.0, facts={"approximation": "exact by fallback"})
    finding = panel_finding(fallen)
    assert finding is not None
    assert finding.sentence() == "scatter and broadcast are about the same: 2.00× at 8Ki"
    (crossover,) = fallen.crossovers
    assert (crossover.first_grid, crossover.reason) == (None, "the baseline's program at every length")


def test_a_finding_is_of_the_longest_length_at_which_both_were_timed():
    beyond = record("broadcast", 16 * K, status="oom"), record("scatter", 16 * K, 1e-3)
    longer = suite(*panel(0.5, 2.0).records, *beyond)
    finding = panel_finding(longer)
    assert finding is not None
    assert finding.compared.seq == 8 * K


def test_nothing_to_compare_is_no_finding():
    assert panel_finding(suite(record("scatter", 4 * K, 1e-3))) is None
    assert headline([]) is None


def test_panels_share_a_headline_where_they_say_the_same():
    faster, slower = panel_finding(panel(2.0)), panel_finding(panel(0.5))
    more = panel_finding(panel(3.0))
    assert faster is not None
    assert more is not None
    assert slower is not None
    both = "scatter beats broadcast in both panels: 2.00× to 3.00× at the longest length"
    assert headline([more, faster]) == both
    assert headline([faster, slower]) is None
    assert headline([faster]) == faster.sentence()


def test_a_ratio_whose_interval_spans_a_factor_of_eight_has_one_digit():
    finding = panel_finding(panel(2.0))
    assert finding is not None
    compared = replace(finding.compared, low=0.5, high=4.0)
    assert replace(finding, compared=compared).ratio == "≈2×"


SOURCE = {"repo": "org/configs", "path": "folder/m_config.json", "commit": "0123456789", "sha256": "0"}


def layered_panel(own_s, *models, rounds=9):
    """`scatter` beside a broadcast of 1 ms at 16Ki."""
    base, own = timing(1e-3, spread=1e-6, rounds=rounds), timing(own_s, spread=1e-6, rounds=rounds)
    records = [record("broadcast", 16384, timing=base), record("scatter", 16384, timing=own)]
    cases = frozenset(r.case for r in records)
    return replace(
        suite(*records), models=tuple(StepModel(*model, cases=cases, source=SOURCE) for model in models)
    )


def step(own_s, *models, **more):
    finding = panel_finding(layered_panel(own_s, *models, **more))
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
    shown = layered_panel(0.4e-3, ("m", 61, 1))
    lines = answer(shown)
    assert any(line.startswith("scatter saves 36.60 ms") for line in lines)
    assert lines[-1] == "Fields of m: org/configs@0123456, m_config.json, sha256 0."
    assert heading(shown).startswith("mask: m: ")


def test_without_a_model_nothing_is_said():
    assert step(0.4e-3) == ""
    assert heading(layered_panel(0.4e-3)) == "mask: batch=1 dtype=f32 rows=128 topk=2Ki"
