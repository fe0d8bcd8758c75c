import xml.etree.ElementTree as ET
from dataclasses import replace

from harness.core.static_figures import Static
from harness.report.charts import draw_suite
from harness.report.charts.grid import CaseGrid
from harness.report.charts.static import static as drawn_static
from tests.report.charts.suites import INFO, outcomes_of, record, static, suite, texts_of, words_of

K = 1024
GIB = 2**30
MIB = 2**20
COMPILED = {**INFO, "depth": "static"}
ALL = ("argument_bytes", "output_bytes", "temp_bytes", "alias_bytes", "peak_bytes", "flops", "bytes_accessed")
NINE = (
    "host", "tpu:v5e", "tpu:v5p", "tpu:v6e", "tpu:7x", "cuda:a100", "cuda:h100", "cuda:h200", "cuda:b200",
)  # fmt: skip


def chart_of(*records, info=COMPILED):
    return drawn_static(CaseGrid.of(suite(*records)), info)


def points(chart, panel=0, series=0):
    return [(point.seq, point.value, point.hollow) for point in chart.panels[panel].series[series].points]


def test_planned_bytes_are_the_sum_less_what_is_shared():
    own = static(GIB, argument_bytes=4 * MIB, output_bytes=2 * MIB, alias_bytes=MIB)
    chart = chart_of(record("broadcast", K, static={"tpu:v5p": own}))
    assert points(chart) == [(K, GIB + 5 * MIB, False)]


def test_every_target_has_its_panel_and_its_memory():
    both = {"host": static(MIB), "tpu:v5p": static(2 * MIB), "cuda:h200": static(3 * MIB)}
    chart = chart_of(record("broadcast", K, static=both))
    assert [panel.title for panel in chart.panels] == ["host", "cuda:h200", "tpu:v5p"]
    assert [panel.limit for panel in chart.panels] == [18 * GIB, 141 * GIB, 95 * GIB]
    assert [points(chart, i)[0][1] for i in range(3)] == [3 * MIB, 5 * MIB, 4 * MIB]
    asked = suite(record("broadcast", K, static=both))
    asked = replace(asked, targets=("tpu:v5p", "host", "cuda:h200"))
    titles = [panel.title for panel in drawn_static(CaseGrid.of(asked), COMPILED).panels]
    assert titles == ["tpu:v5p", "host", "cuda:h200"]


def test_what_does_not_fit_is_hollow():
    large = {"host": static(GIB, fits=True), "tpu:v5e": static(30 * GIB, fits=False)}
    one = record("scatter", K, static=large)
    chart = chart_of(one)
    assert [points(chart, i)[0][2] for i in range(2)] == [False, True]
    assert "• hollow: planned, but does not fit" in words_of("static", suite(one), COMPILED)


def test_a_failure_on_the_host_makes_no_point_hollow():
    one = record("scatter", K, status="oom", static={"host": static(GIB), "tpu:v5p": static(GIB)})
    assert [points(chart_of(one), i)[0][2] for i in range(2)] == [False, False]


def test_a_compiler_that_refuses_is_marked_and_quoted():
    words = "Ran out of memory in memory space hbm"
    refused = Static(unavailable=dict.fromkeys(ALL, words), fits=False)
    one = record("scatter", K, static={"host": static(GIB), "tpu:v5e": refused})
    assert outcomes_of(chart_of(one), 1) == {("scatter", "does not fit", K)}
    assert f"• tpu:v5e: scatter: does not fit: {words}" in words_of("static", suite(one), COMPILED)


def test_a_missing_figure_is_marked_and_explained():
    absent = Static.none("libtpu is not installed")
    one = record("scatter", K, static={"host": static(GIB), "tpu:v5e": absent, "tpu:v5p": absent})
    words = words_of("static", suite(one, record("broadcast", K)), COMPILED)
    for panel in (1, 2):
        missing = {(name, "no figure", K) for name in ("scatter", "broadcast")}
        assert outcomes_of(chart_of(one, record("broadcast", K)), panel) == missing
    assert "• tpu:v5e, tpu:v5p: scatter: no figure: libtpu is not installed" in words
    assert "• tpu:v5e, tpu:v5p: broadcast: not compiled" in words


def test_a_case_that_failed_before_it_was_compiled_shows_its_status():
    none = dict.fromkeys(("host", "tpu:v5p"), Static.none("no such window"))
    for without in ({}, none):
        one = record("scatter", K, status="unsupported", static=without)
        chart = chart_of(one, record("broadcast", K, static={"host": static(GIB), "tpu:v5p": static(GIB)}))
        assert [outcomes_of(chart, i) for i in range(2)] == [{("scatter", "unsupported", K)}] * 2
        (said,) = [note for note in chart.notes if "scatter" in note]
        assert said == "scatter: unsupported: unsupported because of scatter; take a shorter length"


def test_doubts_about_figures_and_equal_programs_are_notes():
    doubt = "the device would run another program"
    doubted = {"cuda:h200": static(GIB, program="sha256:a", warnings=(doubt,))}
    records = [record(name, K, static=doubted) for name in ("broadcast", "approx")]
    notes = chart_of(*records).notes
    assert f"broadcast, approx: {doubt}" in notes
    assert "Same program on cuda:h200: approx = broadcast at 1Ki" in notes


def test_a_run_that_only_compiled_has_no_chart_of_times():
    one = suite(record("broadcast", K))
    assert list(draw_suite(one, COMPILED)) == ["memory", "static"]
    words = words_of("static", one, COMPILED)
    assert "fwd · batch=1 · dtype=f32 · rows=128 · topk=2048" in words


def test_a_timed_run_has_the_chart_beside_its_three_where_it_compiled_for_a_target():
    both = {"host": static(GIB), "tpu:v5p": static(GIB)}
    kinds = list(draw_suite(suite(record("broadcast", K, 1e-3, static=both)), INFO))
    assert kinds == ["latency", "speedup", "memory", "static"]
    assert "static" not in draw_suite(suite(record("broadcast", K, 1e-3)), INFO)


def test_nine_targets_stand_in_three_rows_of_a_page_as_wide_as_any():
    nine = suite(record("broadcast", K, static={name: static(GIB) for name in NINE}))
    svg = draw_suite(nine, COMPILED)["static"]
    assert sum(text.startswith("limit ") for text in texts_of(svg)) == 9
    page = ET.fromstring(svg)
    width, height = (float(page.get(side, "").removesuffix("pt")) / 72 for side in ("width", "height"))
    assert width == 8
    assert height < 10


def test_the_title_counts_the_targets_that_hold_the_longest_length():
    fits = {"host": static(GIB, fits=False), "tpu:v5p": static(GIB, fits=True)}
    all_fit = {"host": static(GIB, fits=True), "tpu:v5p": static(GIB, fits=True)}
    both = (record("broadcast", K, static=fits), record("scatter", K, static=all_fit))
    assert chart_of(*both).title == "at 1Ki broadcast fits 1 of 2 targets, the others all of them"
    assert chart_of(both[1]).title == "at 1Ki every program fits all 2 targets"
    alone = record("broadcast", K, static={"host": static(GIB, fits=False)})
    assert chart_of(alone).title == "at 1Ki broadcast does not fit host"
    assert chart_of(record("broadcast", K, static={"host": static(GIB)})).title.endswith("does it fit?")
