"""The sentences before a panel's table, on runs whose every number is chosen."""

import pytest

from harness.core.record import Correctness
from harness.core.remedy import Remedy
from harness.report.answer import answer, describe_briefly, winner_line
from harness.report.charts.grid import CaseGrid
from harness.report.charts.notes import record_notes
from harness.report.finding import finding_of
from harness.report.tables import cells
from tests.records import static_of

NOISE = (0.99, 1.0, 1.01, 0.995, 1.005, 1.0, 1.0)
CLOSE = (0.97, 1.03, 1.0, 0.98, 1.02, 1.0, 1.0)
WIDE = (0.5, 2.0, 1.0, 0.6, 1.8, 1.0, 1.0)

REASONS = {
    "oom": "killed at its limit",
    "skipped": "predicted 9 s a call; the budget is 2 s: raise --budget",
    "timeout": "no answer within 60 s",
    "unsupported": "needs more rows",
}


def _noise(noise, name, seq):
    """The factors of a case's samples: of an implementation, or of one of its lengths."""
    own = noise.get(name, NOISE)
    return own[seq] if isinstance(own, dict) else own


@pytest.fixture
def panel(record, suite, timing):
    """Results of one panel from {implementation: {length: seconds, or a status}}."""

    def build(
        times, noise=None, semantics=None, facts=None, baseline="mask/broadcast", methods=None, queued=None
    ):
        records = [
            record(name, seq, taken, reason=REASONS[taken], semantics=(semantics or {}).get(name, "exact"))
            if isinstance(taken, str)
            else record(
                name,
                seq,
                timing=timing(
                    [taken * n for n in _noise(noise or {}, name, seq)],
                    method=(methods or {}).get(name, "wall"),
                    queued=(queued or {}).get(name, 0.0),
                    other_load=1.0,
                ),
                semantics=(semantics or {}).get(name, "exact"),
                facts=(facts or {}).get(name, {}),
            )
            for name, lengths in times.items()
            for seq, taken in lengths.items()
        ]
        (only,) = suite(records, baseline).panels.values()
        return only

    return build


def test_the_fastest_and_by_how_much(panel):
    only = panel({"broadcast": {1024: 2.0, 4096: 8.0}, "scatter": {1024: 4.0, 4096: 4.0}})
    assert answer(only) == [
        "Fastest at 4Ki: scatter, 4.00 s [3.96, 4.04], 2.000× [2.000, 2.000] as fast as broadcast.",
        "Against broadcast: faster from 4Ki (≈ 2Ki): scatter.",
    ]
    assert winner_line(only) == "winner per length: 1Ki broadcast; 4Ki scatter"


def test_times_of_another_clock_are_named_and_not_ranked(panel):
    events = {"scatter": "cuda_events", "threshold": "cuda_events"}
    times = {"broadcast": {4096: 1.0}, "scatter": {4096: 4.0}, "threshold": {4096: 2.0}}
    only = panel(times, methods=events)
    fastest, other, *_ = answer(only)
    assert fastest.startswith("Fastest at 4Ki: threshold, ")
    assert fastest.endswith("as fast as the next, scatter.")
    assert other == "Not ranked: broadcast, timed by the host's clock, the others by the device's."
    assert winner_line(only) == "winner per length: 4Ki threshold"


def test_of_as_many_by_either_clock_the_baselines_are_ranked(panel):
    only = panel({"scatter": {4096: 1.0}, "broadcast": {4096: 2.0}}, methods={"scatter": "cuda_events"})
    assert answer(only)[0].startswith("Fastest at 4Ki: broadcast, ")


def test_until_is_as_good_a_finding_as_from(panel):
    only = panel({"broadcast": {1024: 2.0, 4096: 2.0}, "scatter": {1024: 1.0, 4096: 4.0}})
    first, second = answer(only)
    assert first.startswith("Fastest at 4Ki: broadcast, 2.00 s [1.98, 2.02], 2.000×")
    assert first.endswith("as fast as the next, scatter.")
    assert second == "Against broadcast: faster until 1Ki (≈ 2Ki): scatter."


def test_an_interval_close_around_one_is_about_the_same(panel):
    times = {"broadcast": {1024: 2.0, 4096: 2.0}, "scatter": {1024: 1.98, 4096: 1.98}}
    only = panel(times, {"scatter": CLOSE})
    first, second = answer(only)
    assert first.startswith("Fastest at 4Ki: scatter and broadcast, about the same, ")
    assert second == "Against broadcast: about the same: scatter."
    assert winner_line(only) == "winner per length: 1Ki–4Ki broadcast ≈ scatter"


def test_a_wide_interval_that_contains_one_is_undecided(panel):
    only = panel({"broadcast": {1024: 2.0, 4096: 2.0}, "scatter": {1024: 1.9, 4096: 1.9}}, {"scatter": WIDE})
    first, second = answer(only)
    assert first.startswith("Fastest at 4Ki: scatter or broadcast (undecided), 1.9 s [")
    assert second == "Against broadcast: undecided: scatter."
    assert winner_line(only) == "winner per length: 1Ki–4Ki undecided: broadcast or scatter"


def test_nothing_is_decided_by_times_from_which_other_programs_took_the_processor(panel):
    times = {"broadcast": {4096: 4.0}, "scatter": {4096: 2.0}, "sort": {4096: 8.0}}
    only = panel(times, queued={"scatter": 0.2})
    first, second, third = answer(only)
    assert first.startswith("Fastest at 4Ki: scatter or broadcast or sort (doubtful), 2.00 s [")
    assert second == (
        "Doubtful at 4Ki: other programs took the processor while these were timed. "
        "Measure again on a quiet machine."
    )
    assert third == "Against broadcast: doubtful at 4Ki: scatter; slower at 4Ki: sort."
    assert winner_line(only) == "winner per length: 4Ki doubtful: broadcast or scatter or sort"


def test_some_may_be_about_the_same_and_others_undecided(panel):
    times = {"broadcast": {4096: 2.0}, "scatter": {4096: 2.0}, "sort": {4096: 2.1}, "slow": {4096: 4.0}}
    only = panel(times, {"scatter": CLOSE, "sort": WIDE})
    first, second = answer(only)
    assert first.startswith("Fastest at 4Ki: broadcast and scatter, about the same, or sort (undecided), 2.0")
    assert first.endswith("as fast as the next, slow.")
    words = "about the same at 4Ki: scatter; undecided at 4Ki: sort; slower at 4Ki: slow"
    assert second == f"Against broadcast: {words}."
    assert winner_line(only) == "winner per length: 4Ki undecided: broadcast ≈ scatter or sort"


def test_a_verdict_at_the_end_is_not_of_lengths_that_are_undecided(panel):
    times = dict.fromkeys((1024, 4096, 16384), 2.0)
    noises = {1024: CLOSE, 4096: WIDE, 16384: CLOSE}
    only = panel({"broadcast": times, "scatter": times}, {"scatter": noises})
    assert answer(only)[1] == "Against broadcast: about the same at 16Ki: scatter."


def test_equal_operators_without_an_interval_are_undecided(record, suite, timing):
    """Eager torch dispatches the same operators for both; the host's work between them may differ."""
    static = {"host": static_of(program="sha256:1a2b3c4d")}
    records = [
        record(name, 4096, timing=timing([taken]), framework="torch", static=static)
        for name, taken in (("broadcast", 2.0), ("scatter", 1.0))
    ]
    (only,) = suite(records).panels.values()
    assert answer(only)[0].startswith("Fastest at 4Ki: scatter or broadcast (undecided), 1.0 s (no interval)")


def test_exact_by_fallback_never_crosses(panel):
    only = panel(
        {"broadcast": {1024: 2.0, 4096: 2.0}, "approx": {1024: 2.2, 4096: 1.8}},
        facts={"approx": {"approximation": "exact by fallback"}},
        semantics={"approx": "recall"},
    )
    assert "about the same: approx" in answer(only)[1]
    assert all(crossover.interpolated is None for crossover in only.crossovers)
    assert winner_line(only) == "winner per length: 1Ki–4Ki broadcast ≈ approx≠"


def test_what_is_not_equivalent_does_not_win_unmarked(panel):
    times = {"broadcast": {4096: 4.0}, "scatter": {4096: 2.0}, "threshold": {4096: 1.0}}
    only = panel(times, semantics={"threshold": "threshold"})
    first, *rest = answer(only)
    assert first == (
        "Fastest at 4Ki: scatter, 2.00 s [1.98, 2.02], 2.000× [2.000, 2.000] as fast as broadcast; faster "
        "still, but not mathematically equivalent: threshold, 2.000× [2.000, 2.000] as fast as that."
    )
    speedups = "Against broadcast: faster at 4Ki: scatter, threshold."
    assert rest == [speedups, "Not mathematically equivalent to broadcast: threshold."]
    assert winner_line(only) == "winner per length: 4Ki threshold≠ (scatter)"


def test_what_did_not_run_has_the_flag_that_mends_it(panel):
    lost = {"scatter": {1024: 1.0, 4096: "skipped"}, "threshold": {1024: "timeout", 4096: "unsupported"}}
    only = panel({"broadcast": {1024: 2.0, 4096: "oom"}, **lost})
    sentences = answer(only)
    assert sentences[0].startswith("Fastest at 1Ki (nothing was timed at 4Ki): scatter, ")
    assert sentences[-1] == (
        "Not run: timed out (raise --timeout): threshold at 1Ki; out of memory (raise --memory): broadcast "
        "at 4Ki; skipped (raise --budget): scatter at 4Ki; unsupported: threshold at 4Ki."
    )


SPOILER = "ValueError: n/a (needs ≥ 6 rounds; has 3); raise --memory or shorten the sequence"


@pytest.mark.parametrize("status", ["crashed", "unsupported", "unjudged"])
def test_an_implementations_own_words_are_no_remedy_and_are_shown_as_they_are(record, suite, timing, status):
    records = [record("broadcast", seq, timing=timing([2.0 * n for n in NOISE])) for seq in (1024, 4096)]
    records.append(record("scatter", 1024, timing=timing(NOISE)))
    records.append(record("scatter", 4096, status, reason=SPOILER, remedy=""))
    results = suite(records)
    (panel,) = results.panels.values()
    assert answer(panel)[-1] == f"Not run: {status}: scatter at 4Ki."
    assert SPOILER in cells.time(panel.cases[-1]).notes
    assert f"scatter at 4Ki: {status}: {SPOILER}" in record_notes(CaseGrid.of(results))


def test_a_stored_flag_is_the_remedy(record, suite, timing):
    lost = {"oom": Remedy.LESS_MEMORY, "skipped": Remedy.MORE_BUDGET, "unsupported": Remedy.SHORTER}
    records = [record("broadcast", 1024, timing=timing(NOISE))]
    records += [record(f"x_{status}", 1024, status, reason="why", remedy=lost[status]) for status in lost]
    (panel,) = suite(records).panels.values()
    assert answer(panel)[-1] == (
        "Not run: out of memory (lower --memory): x_oom at 1Ki; skipped (raise --budget): x_skipped at 1Ki; "
        "unsupported (lower --seq): x_unsupported at 1Ki."
    )


def test_without_an_interval_the_sentence_says_so(panel):
    only = panel({"broadcast": {4096: 4.0}, "scatter": {4096: 2.0}}, {"broadcast": (1.0,), "scatter": (1.0,)})
    fastest = "Fastest at 4Ki: scatter, 2.0 s (no interval), 2.0× (no interval) as fast as broadcast."
    assert answer(only) == [fastest, "Against broadcast: undecided: scatter."]


def test_rounds_too_few_for_an_interval_that_all_agree_are_told(panel):
    few = {"broadcast": (1.0, 1.1, 0.9), "scatter": (1.0, 1.1, 0.9), "slow": (1.0, 1.1, 0.9)}
    only = panel({"broadcast": {4096: 4.0}, "scatter": {4096: 2.0}, "slow": {4096: 8.0}}, few)
    faster, slower = "faster in each of 3 rounds", "slower in each of 3 rounds"
    few = "too few for an interval"
    assert answer(only)[1] == f"Against broadcast: {faster}, {few}: scatter; {slower}, {few}: slow."
    briefly = [describe_briefly(finding_of(only, f"mask/{name}"), None) for name in ("scatter", "slow")]
    assert briefly == ["in each of 3 rounds", slower]


def test_an_implementation_that_should_be_incorrect_does_not_win(record, suite, timing):
    passes = {"expected": True, "correctness": Correctness("exact", True, "whole")}
    base = record("broadcast", 4096, timing=timing([2.0] * 6))
    records = [base, record("literal", 4096, timing=timing([1.0] * 6), **passes)]
    (only,) = suite(records).panels.values()
    assert answer(only)[0].startswith("Fastest at 4Ki: broadcast, ")


def test_nothing_timed_says_nothing(panel):
    only = panel({"broadcast": {4096: "oom"}})
    assert (answer(only), winner_line(only)) == ([], "")


@pytest.mark.parametrize(
    ("baseline", "missing"), [("mask/broadcast", "broadcast is not among them"), (None, "none is named")]
)
def test_without_a_baseline_the_flag_is_named_that_gives_one(panel, baseline, missing):
    only = panel({"scatter": {1024: 1.0}, "threshold": {1024: 2.0}}, baseline=baseline)
    fastest, against = answer(only)
    assert fastest.endswith("1.000 s [0.990, 1.010], 2.000× [2.000, 2.000] as fast as the next, threshold.")
    why = f"No speedups without a baseline ({missing})"
    assert against == f"{why}: --baseline scatter compares with that one."
