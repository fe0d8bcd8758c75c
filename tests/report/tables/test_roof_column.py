"""The column of the roof's share: on request, and only with measured ceilings of the records' machine."""

from dataclasses import replace

from harness.analysis.roofline import UNMEASURED
from harness.core.record import Cost
from harness.report.run_json import run_data
from harness.report.tables.suite import suite_table
from tests.report.charts.suites import FINGERPRINT, record, suite
from tests.rooflines import machine

RECORD = record("scatter", 4096, 1.0, cost=Cost(5e10, None))


def column(results, *requested):
    table = suite_table(results, requested=requested)
    titles = [shown.title for shown in table.columns]
    texts = [row[titles.index("roof")].text for row in table.rows] if "roof" in titles else None
    notes = dict.fromkeys(note for row in table.rows for cell in row for note in cell.notes)
    return texts, list(notes)


def test_it_is_there_on_request_only():
    results = replace(suite(RECORD), rooflines={FINGERPRINT: machine()})
    assert column(results)[0] is None
    assert column(results, "roof")[0] == ["50.0 % of compute"]


def test_without_ceilings_a_footnote_says_how_to_measure_them():
    texts, notes = column(suite(RECORD), "roof")
    assert texts == ["n/a"]
    assert UNMEASURED in notes


def test_json_has_the_shares_where_they_are_asked_for():
    assert "roofs" not in run_data({}, [RECORD])
    (found,) = run_data({"rooflines": {FINGERPRINT: machine()}}, [RECORD])["roofs"]
    assert (found["roof"], found["share"]["value"], found["refused"]) == ("compute", 0.5, "")
