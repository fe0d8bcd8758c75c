"""The chart of owners: bands of buffers over a program, the peak with its line, and that it can be read."""

from dataclasses import replace

from harness.core.peak_owners import Owner, Owners
from harness.report.charts.drawing.style import style
from harness.report.charts.grid import CaseGrid
from harness.report.charts.model import Band, LivePanel
from harness.report.charts.owners import BANDS, owners
from harness.report.charts.suite import suite_figures
from tests.report.charts.legibility import assert_legible
from tests.report.charts.suites import INFO, record, static, suite, words_of

K, MIB = 1024, 1 << 20
INPUT = Owner("topk_indices", "argument", 4 * MIB, "", "s32[1048576]", "", 0, 9)
PAIRS = Owner("fusion", "temp", 32 * MIB, "eq", "pred[33554432]", "impls/mask/broadcast.py:22", 3, 5)
PEAK = Owners(36 * MIB, 0, 0, 4, 10, (PAIRS, INPUT), (0, 0), ((0, 4 * MIB), (3, 36 * MIB), (6, 4 * MIB)))
COMPILED = {**INFO, "depth": "static"}


def case(name, seq, found):
    return record(name, seq, static={"tpu:v5p": replace(static(MIB), owners=found)})


def test_a_panel_has_the_longest_length_with_its_peak_and_its_line():
    chart = owners(CaseGrid.of(suite(case("broadcast", K, PEAK), case("broadcast", 4 * K, PEAK))))
    (panel,) = chart.panels
    assert panel.title == "broadcast at 4Ki on tpu:v5p"
    assert panel.peak == (4, "peak 36 MiB: eq at impls/mask/broadcast.py:22")
    assert [(band.bytes, band.first, band.last) for band in panel.bands] == [
        (4 * MIB, 0, 9),
        (32 * MIB, 3, 5),
    ]
    assert chart.title == (
        "broadcast at 4Ki on tpu:v5p: peak 36 MiB: 32 MiB is eq at impls/mask/broadcast.py:22, "
        "alive over instructions 3–5 of 10; 4 MiB is the argument topk_indices, "
        "held from the first instruction to the last"
    )


def test_bands_and_all_others_are_as_high_as_the_curve():
    bands = (Band("a", 4, 0, 9), Band("b", 2, 3, 5))
    panel = LivePanel("", ((0, 4), (2, 5), (3, 7), (6, 4)), 10, bands, (3, ""))
    steps, layers = panel.layers()
    assert steps == [0, 2, 3, 6, 10]
    assert layers == [[4, 4, 4, 4, 4], [0, 0, 2, 0, 0], [0, 1, 1, 0, 0]]


def test_at_most_five_buffers_have_a_band():
    many = tuple(replace(PAIRS, name=str(place), bytes=place * MIB) for place in range(9, 0, -1))
    chart = owners(CaseGrid.of(suite(case("broadcast", K, replace(PEAK, owners=many)))))
    assert [band.bytes // MIB for band in chart.panels[0].bands] == [9, 8, 7, 6, 5]
    assert len(chart.panels[0].bands) == BANDS


def test_nothing_is_drawn_where_nobody_was_asked_or_no_curve_is_known():
    assert owners(CaseGrid.of(suite(case("broadcast", K, None)))) is None
    assert owners(CaseGrid.of(suite(case("broadcast", K, replace(PEAK, curve=(), instructions=0))))) is None


def test_what_is_not_exact_is_noted():
    chart = owners(CaseGrid.of(suite(case("broadcast", K, replace(PEAK, difference_bytes=512)))))
    assert any("take 512 B more than the figures plan" in note for note in chart.notes)


def test_it_is_drawn_and_can_be_read():
    results = suite(case("broadcast", K, PEAK), case("scatter", K, PEAK), baseline="")
    words = " ".join(" ".join(words_of("owners", results, COMPILED)).split())
    for text in ("broadcast at 1Ki on tpu:v5p", "peak 36 MiB: eq at impls/mask/broadcast.py:22", "32 MiB"):
        assert text in words
    with style():
        _, figure = suite_figures(results, COMPILED, kinds=["owners"])["owners"]
        assert_legible(figure, "owners")
