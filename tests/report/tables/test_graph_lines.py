"""What CUDA graphs save, in words: both ways with their intervals, and never as a speedup."""

from dataclasses import replace

import pytest

from harness.analysis.suite_results import results_of
from harness.core.record import GraphReplays, Record
from harness.report.tables.graph_lines import graph_lines
from tests.records import PASSED, record_of, timing_of

TIMED = timing_of([1e-4] * 8)


def with_graphs(replay_us: float, eager_us: float, rounds: int = 8, **more: object) -> Record:
    spread = [1 + 0.001 * (round_ % 3) for round_ in range(rounds)]
    graphs = GraphReplays(
        tuple(1e-6 * replay_us * each for each in spread),
        tuple(1e-6 * eager_us * each for each in spread),
        "graph_events",
        "flushed",
    )
    return replace(record_of("scatter", 4096, timing=TIMED, correctness=PASSED), graphs=graphs, **more)


def test_both_ways_stand_beside_each_other_with_their_intervals() -> None:
    record = with_graphs(40, 120)
    (line,) = graph_lines([record, record_of("other", 4096)])
    assert line == (
        f"{record.case}: dispatch saved by CUDA graphs: eager 120.1 µs [120.0, 120.2], "
        "replay 40.04 µs [40.00, 40.08]"
    )


@pytest.mark.parametrize(("replay", "eager", "rounds"), [(120, 120, 8), (130, 120, 8), (40, 120, 2)])
def test_what_intervals_do_not_part_is_not_saved(replay: float, eager: float, rounds: int) -> None:
    (line,) = graph_lines([with_graphs(replay, eager, rounds)])
    assert "dispatch saved by CUDA graphs: none that shows: eager" in line


def test_why_there_are_no_replays_is_said_once() -> None:
    why = "no CUDA graph: XLA has its own"
    timed = timing_of([1e-4] * 8, warnings=("drifts", why))
    records = [record_of("jaxed", seq, timing=timed, correctness=PASSED) for seq in (1024, 2048, 4096)]
    assert graph_lines(records) == [f"{records[0].case} and 2 more: {why}; the eager figures stand"]


def test_replays_enter_no_speedup() -> None:
    """The rival's replays are three times as fast as its eager calls, which are as fast as the baseline's."""
    base = record_of("broadcast", 4096, timing=TIMED, correctness=PASSED, baseline=True)
    rival = with_graphs(33, 100)
    info = {
        "suites": {"mask": {"family": "mask", "baseline": "mask/broadcast", "cases": [base.case, rival.case]}}
    }
    (suite,) = results_of(info, [base, rival])
    (comparison,) = suite.comparisons
    assert comparison.speedup == pytest.approx(1.0)


def test_a_replay_is_no_method_of_a_timing() -> None:
    with pytest.raises(ValueError, match="graph_events"):
        replace(TIMED, method="graph_events")
    with pytest.raises(ValueError, match="cuda_events"):
        GraphReplays((1.0,), (1.0,), "cuda_events", "flushed")
    with pytest.raises(ValueError, match="both ways"):
        GraphReplays((1.0,), (), "graph_events", "flushed")
