import re
from pathlib import Path

import matplotlib as mpl
import pytest

from harness.analysis.suite_results import results_of
from harness.core.errors import UsageError
from harness.report.charts import draw_run, draw_suite, suite_figures
from harness.report.charts.drawing.style import looks, style
from harness.report.charts.model import ScatterChart
from tests.report.charts.suites import INFO, outcomes_of, record, suite, texts_of, words_of

K = 1024
ROOT = Path(__file__).resolve().parents[3]


def five():
    """Five implementations, two modes; one runs out of memory, one is wrong, one has no backward."""
    records = []
    for mode in ("fwd", "bwd"):
        for seq in (4 * K, 16 * K, 64 * K):
            small = seq < 64 * K
            base = {"median_s": 1e-9 * seq * seq} if small else {"status": "oom"}
            records += [
                record("broadcast", seq, temp=seq * seq * 16, mode=mode, **base),
                record("scatter", seq, 8e-6 * seq, temp=seq * 512, mode=mode),
                record("threshold", seq, 5e-5 * seq, temp=0, mode=mode),
                record("sorted", seq, 2e-6 * seq, mode=mode, semantics="recall"),
                record("claimed", seq, status="incorrect" if mode == "fwd" else "unsupported", mode=mode),
            ]
    return suite(*records)


@pytest.fixture(scope="module")
def charts():
    return draw_suite(five(), INFO)


def test_equal_records_give_equal_bytes_under_any_matplotlib_settings(charts):
    loud = {"font.size": 22, "axes.facecolor": "red", "svg.fonttype": "path", "lines.linewidth": 9}
    with mpl.rc_context(loud):
        assert draw_suite(five(), INFO) == charts
        assert mpl.rcParams["font.size"] == 22


def test_the_footer_has_run_date_machine_and_method(charts):
    footer = (
        "run 20261120T113000Z-1a2b3c4 · 2026-11-20 · "
        "fingerprint 01234567 (Some CPU 9000, 2 threads) · wall clock, inputs rotated"
    )
    assert all(footer in " ".join(texts_of(svg)) for svg in charts.values())
    assert not any(b"fill: #ffffff" in svg for svg in charts.values()), "the ground is the reader's"


def test_no_case_vanishes_from_any_chart():
    with style():
        drawn = suite_figures(five(), INFO)
    for name, (chart, _) in drawn.items():
        if isinstance(chart, ScatterChart):
            assert "mask/claimed" in chart.rows
            continue
        for panel, words in enumerate(("incorrect", "unsupported")):
            lane, shown = outcomes_of(chart, panel), chart.panels[panel].lengths
            assert {("claimed", words, seq) for seq in shown} <= lane, name
            assert (("broadcast", "out of memory", 64 * K) in lane) == (64 * K in shown)
        assert any(note.startswith("broadcast at 64Ki") for note in chart.notes)


def test_colours_and_markers_do_not_depend_on_what_has_data():
    labels = ("mask/broadcast", "mask/scatter", "mask/sorted")
    assert looks(labels, "mask/broadcast")["mask/sorted"] == looks(labels, "")["mask/scatter"]
    many = [f"mask/v{i}" for i in range(20)]
    dressed = looks(many, "mask/v0").values()
    assert len({(look.colour, look.marker) for look in dressed}) == 20


def test_implementations_at_a_single_length_do_not_overlap():
    one = suite(*(record(name, 16 * K, 1e-3) for name in ("broadcast", "scatter", "sorted")))
    svg = draw_suite(one, INFO)["latency"]
    spots = re.findall(rb'<use[^>]* x="([1-9][\d.]+)"', svg)
    assert len(set(spots)) == 3


def test_very_long_names_are_wrapped():
    options = {f"a_long_option_name_{i}": "with_a_long_value" for i in range(6)}
    words = words_of("latency", suite(record("scatter", 4 * K, 1e-3, options=options)))
    name = "scatter[" + ",".join(f"{key}={value}" for key, value in options.items()) + "]"
    assert name not in words
    assert name in "".join(words).replace("(baseline)", "")


def test_png_adds_an_image_of_every_chart():
    def draw():
        return draw_run({}, results_of({}, [record("scatter", 4 * K, 1e-3)]), png=True)

    drawn = draw()
    assert list(drawn) == [
        f"mask-{kind}.{end}" for kind in ("latency", "speedup", "memory") for end in ("svg", "png")
    ]
    assert all(data.startswith(b"\x89PNG") for name, data in drawn.items() if name.endswith("png"))
    assert drawn == draw()


def test_an_empty_suite_is_a_usage_error():
    with pytest.raises(UsageError, match="suite mask has no records to draw; run: seqsweep run mask"):
        draw_suite(suite(), INFO)
