"""The finding of a panel: crossovers only between intervals that exclude 1, and the time saved per step."""

from dataclasses import replace

from harness.analysis.results import StepModel
from harness.report.answer import answer
from harness.report.finding import headline, panel_finding
from harness.report.tables.suite import heading
from tests.goldens import assert_golden
from tests.report.charts.suites import record, suite, timing

K = 1024
LENGTHS = (4 * K, 8 * K, 16 * K)


def panel(*speedups, wide=(), few=(), **more):
    """`scatter` and broadcast by length; `wide` lengths have an interval of ±50 %, `few` have none."""
    records = []
    for place, speedup in enumerate(speedups):
        spread, rounds = (0.5 if place in wide else 0.01), (3 if place in few else 9)
        base = timing(1e-3, spread=1e-6, rounds=rounds)
        own = timing(1e-3 / speedup, spread=spread, rounds=rounds)
        seq = LENGTHS[place]
        records += [record("broadcast", seq, timing=base), record("scatter", seq, timing=own, **more)]
    return suite(*records)


SOURCE = {"repo": "org/configs", "path": "folder/m_config.json", "commit": "0123456789", "sha256": "0"}


def layered_panel(own_s, *models, rounds=9):
    """`scatter`, and broadcast with 1 ms, at 16Ki."""
    base, own = timing(1e-3, spread=1e-6, rounds=rounds), timing(own_s, spread=1e-6, rounds=rounds)
    records = [record("broadcast", 16384, timing=base), record("scatter", 16384, timing=own)]
    cases = frozenset(r.case for r in records)
    return replace(
        suite(*records), models=tuple(StepModel(*model, cases=cases, source=SOURCE) for model in models)
    )


def finding(panel):
    found = panel_finding(panel)
    assert found is not None
    return found


SPEEDUPS = [  # speedups by length, places with a wide interval, places with too few rounds
    ((0.5, 0.8, 2.0), (), ()), ((0.5, 1.5, 2.0), (), ()), ((0.5, 1.1, 2.0), (1,), ()),
    ((0.9, 1.1, 2.0), (0, 1), ()), ((1.0, 1.0, 2.0), (), ()), ((1.0, 1.0, 2.0), (1,), ()),
    ((1.5, 1.1, 2.0), (1,), ()), ((1.5, 1.8, 2.0), (), ()), ((2.0,), (), ()), ((1.5, 1.2, 0.5), (), ()),
    ((1.5, 1.1, 1.1), (1, 2), ()), ((1.5, 1.0, 1.0), (), ()), ((1.5, 1.0, 1.0), (1,), ()),
    ((1.1, 1.5, 1.1), (0, 2), ()), ((1.1, 1.1, 0.5), (0, 1), ()), ((0.9, 0.8, 0.5), (), ()),
    ((0.5, 2.0), (), (0, 1)), ((1.1,), (0,), (0,)), ((0.5, 1.5, 2.0), (), (0,)),
    ((1.5, 1.5, 200.4), (), (2,)),
]  # fmt: skip
STEPS = [  # seconds, models, rounds
    (0.4e-3, [("m (tp 8)", 61, 4)], 9), (1.5e-3, [("m (tp 8)", 61, 4)], 9), (1e-3, [("m", 61, 1)], 9),
    (0.4e-3, [("m", 1, 1)], 3), (1.6e-3, [("m", 1, 1)], 3), (0.4e-3, [("full", 60, 1), ("shared", 20, 1)], 9),
    (0.4e-3, [], 9),
]  # fmt: skip


def test_sentences_match_the_golden_file():
    lines = [
        f"{speedups} wide {wide} few {few}: {finding(panel(*speedups, wide=wide, few=few)).sentence()}"
        for speedups, wide, few in SPEEDUPS
    ]
    lines += [
        f"{seconds} {models} {rounds}: {finding(layered_panel(seconds, *models, rounds=rounds)).sentence()}"
        for seconds, models, rounds in STEPS
    ]
    assert_golden("finding_sentences.txt", "\n".join(lines) + "\n")


def test_among_faster_implementations_an_equivalent_one_comes_first():
    fast = record("raw", 4 * K, timing=timing(1e-4), semantics="threshold")
    both = suite(*panel(2.0).records, fast)
    assert (finding(both).implementation, finding(both).semantics) == ("scatter", None)
    alone = finding(suite(both.records[0], fast))
    assert alone.sentence() == "raw beats broadcast: 10.0× at 4Ki (not mathematically equivalent)"


def test_the_baselines_program_is_always_about_the_same():
    fallen = panel(1.5, 2.0, facts={"approximation": "exact by fallback"})
    assert finding(fallen).sentence() == "scatter and broadcast take about the same time: 2.00× at 8Ki"
    (crossover,) = fallen.crossovers
    assert (crossover.first_grid, crossover.reason) == (None, "same program as the baseline at every length")


def test_a_finding_uses_the_longest_length_with_both_times():
    beyond = record("broadcast", 16 * K, status="oom"), record("scatter", 16 * K, 1e-3)
    assert finding(suite(*panel(0.5, 2.0).records, *beyond)).compared.seq == 8 * K
    assert panel_finding(suite(record("scatter", 4 * K, 1e-3))) is None


def test_panels_with_the_same_finding_share_a_headline():
    faster, slower, more = (finding(panel(speedup)) for speedup in (2.0, 0.5, 3.0))
    both = "scatter beats broadcast in both panels: 2.00× to 3.00× at the longest length"
    assert headline([more, faster]) == both
    assert headline([faster, slower]) is headline([]) is None
    assert headline([faster]) == faster.sentence()


def test_a_ratio_whose_interval_spans_a_factor_of_eight_has_one_digit():
    found = finding(panel(2.0))
    assert replace(found, compared=replace(found.compared, low=0.5, high=4.0)).ratio == "≈2×"


def test_the_answer_has_the_saving_and_the_source_of_the_fields():
    shown = layered_panel(0.4e-3, ("m", 61, 1))
    lines = answer(shown)
    assert any(line.startswith("scatter: saves 36.60 ms") for line in lines)
    assert lines[-1] == "Source of the fields of m: org/configs@0123456, m_config.json, sha256 0."
    assert heading(shown).startswith("mask: m: ")
    assert heading(layered_panel(0.4e-3)) == "mask: batch=1 dtype=f32 rows=128 topk=2Ki"
