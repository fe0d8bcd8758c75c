from harness.analysis.compare_runs import SideBySide, across, within
from harness.report.charts.comparison import draw_comparison
from tests.report.charts.suites import record, texts_of, timing

K = 1024


def drawn(matched, of, to, *, trend=False):
    return texts_of(draw_comparison(SideBySide(trend, "heading", of, to, {}, matched.changes, {})))


def run(seconds, **changed):
    return [record("scatter", seq, seconds, **changed) for seq in (4 * K, 16 * K)]


def test_two_implementations_have_a_line_with_its_band():
    records = [*run(1e-3), record("broadcast", 4 * K, 2e-3), record("broadcast", 16 * K, status="oom")]
    words = drawn(within(records, "scatter", "broadcast"), "scatter", "broadcast")
    assert "scatter against broadcast: faster in 1, no interval in 1 of 2 cases" in " ".join(words)
    assert {"heading", "time, scatter / broadcast", "no ratio", "scatter", "broadcast (baseline)"} <= set(
        words
    )
    assert "• band: up to 1.1× either way; an interval inside of it is about the same" in words
    assert "• no ratio at 1 point: n/a (mask/broadcast oom)" in words


def test_two_runs_share_a_line_for_each_kind_of_doubt():
    drifts = {4 * K: "drifts: 12 % slower", 16 * K: "drifts: 13 % slower"}
    later = [
        record("scatter", seq, run="later", source="sha256:b", timing=timing(1e-3, warnings=(drift,)))
        for seq, drift in drifts.items()
    ]
    words = drawn(across(run(1e-3, source="sha256:a"), later), "later", "earlier", trend=True)
    assert "later against earlier: about the same in 2 cases" in words
    assert "• 2 of 2 points: drifts: … % slower" in words
    assert "• bands and bars: 95 % intervals as wide as those of both sides allow" in words
    assert "• 2 of 2 points: the source has changed in between" in words
