"""Charts of profiles with known numbers."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.analysis.suite_results import SuiteResults, results_of
from harness.core.record import Cost
from harness.profile.charts import draw_profiles
from harness.profile.charts.components import components
from harness.profile.charts.roofs import CALLS, roofline_chart
from harness.profile.stage_times import profiled_series
from harness.store.find import find
from tests.profile.test_stage_times import K, profiled
from tests.report.charts.suites import FINGERPRINT, INFO, texts_of
from tests.rooflines import machine

ROOT = Path(__file__).resolve().parents[3]
KEPT = "results/reference/20261123T081322Z-9fe3cdb"
RECORDS = [
    replace(
        profiled(n * K, {"linear": 4.0 * n, "square": 1.0 * n * n, "": 1.0}),
        fingerprint=FINGERPRINT,
        cost=Cost(3000 * n * n, 100 * n),
    )
    for n in (1, 2, 8)
]
FACTS = {"fingerprints": INFO["fingerprints"]}
KNOWN = {**FACTS, "rooflines": {FINGERPRINT: machine(f32=500.0)}}


def series(records=RECORDS):
    return list(profiled_series(records).values())


def suite(records=RECORDS, **known):
    return SuiteResults("attention", "attention", "", ("attention/sparse",), tuple(records), **known)


def test_bands_fill_the_call_with_time_outside_stages_on_top():
    (panel,) = components(series()).panels
    assert list(panel.bands) == ["square", "linear", "in no stage"]
    sums = [sum(at) for at in zip(*panel.bands.values(), strict=True)]
    assert sums == pytest.approx([1.0] * 3)
    assert panel.bands["square"] == pytest.approx([1 / 6, 4 / 13, 64 / 97])


def test_a_single_length_or_stage_has_no_bands():
    assert components(series(RECORDS[:1])) is None
    alone = [profiled(n * K, {"all": 1.0}) for n in (1, 2)]
    assert components(series(alone)) is None
    assert "sparse: not drawn" not in " ".join(components(series()).notes)


def test_small_stages_share_a_band_and_colours_are_unique():
    many = {f"s{i}": 1.0 + i for i in range(9)} | {"speck": 0.01, "": 1.0}
    chart = components(series([profiled(n * K, many) for n in (1, 2)]))
    own = [f"s{i}" for i in range(8, 2, -1)]
    assert list(chart.panels[0].bands) == [*own, "smaller stages", "in no stage"]
    assert len(set(chart.colours.values())) == 7


def test_points_are_at_their_intensity_under_the_measured_roofs():
    chart = roofline_chart(suite(rooflines=KNOWN["rooflines"]), series())
    calls, stages = chart.panels
    assert calls.title == CALLS
    assert [(p.label, p.intensity) for p in calls.points] == [("sparse", 30.0 * n) for n in (1, 2, 8)]
    assert calls.points[0].value == pytest.approx(3000 / 6)
    assert [(p.label, p.intensity, p.value) for p in stages.points] == [
        ("square", 600 / 64, 600 / 64),
        ("linear", 600 / 64, 600 / 32),
    ]
    assert [roof.label for roof in chart.roofs] == ["f32 500 FLOP/s", "DRAM 10 GB/s", "L1, L2 80 GB/s"]


def test_a_share_above_the_roof_has_a_note():
    chart = roofline_chart(suite(rooflines={FINGERPRINT: machine(f32=1.0)}), series())
    assert any(note.startswith("faster than matrix products of f32") for note in chart.notes)


def draw(info, records):
    return draw_profiles(info, results_of(info, records))


def test_a_run_has_the_charts_that_its_records_support():
    drawn = draw(KNOWN, RECORDS)
    assert list(drawn) == ["attention-components.svg", "attention-roofline.svg"]
    assert "square 66.0 %" in texts_of(drawn["attention-components.svg"])
    assert "DRAM 10 GB/s" in texts_of(drawn["attention-roofline.svg"])
    assert list(draw(FACTS, RECORDS)) == ["attention-components.svg"], "without known ceilings"
    assert draw(KNOWN, [replace(record, profile=None) for record in RECORDS]) == {}
    assert draw(KNOWN, RECORDS) == drawn


def test_the_documented_chart_is_drawn_from_its_stored_run():
    folder = find(ROOT / "results", str(ROOT / KEPT))
    stored = folder.read()
    drawn = draw({**stored.info, "fingerprints": folder.fingerprints()}, stored.records)
    name = "attention-components.svg"
    assert drawn[name] == (ROOT / "docs/charts" / name).read_bytes()
    assert KEPT in (ROOT / "docs/profiling.md").read_text()


def test_without_a_wide_enough_ceiling_all_are_drawn():
    wide = [replace(record, workload={**record.workload, "dtype": "f64"}) for record in RECORDS]
    drawn = draw(KNOWN, wide)["attention-roofline.svg"]
    assert {"DRAM 10 GB/s", "f32 500 FLOP/s"} <= set(texts_of(drawn))


def test_a_length_without_operator_time_has_empty_bands():
    calls = [
        profiled(K, {"": 0.0, "a": 0.0, "b": 0.0}, plain=1.0),
        profiled(2 * K, {"": 0.5, "a": 1.5, "b": 2.0}),
    ]
    (panel,) = components(list(profiled_series(calls).values())).panels
    assert panel.bands["a"] == [0.0, 0.375]
