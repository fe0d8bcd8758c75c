"""The figures of a claim: three columns that never mix, tolerances with their reasons, bounds."""

import pytest

from tests.claims.planted import document


@pytest.fixture
def figure(read):
    """A figure as it is read, beside one that decides."""

    def of(text):
        return read(document(text, "name: other, published: 1, found: 1"))[0].figures[0]

    return of


def texts(found):
    return [expression.text for expression in found.expressions()]


def test_a_figure_that_is_compared(figure):
    found = figure("name: temp, unit: B, published: 2Gi, follows: 2 * 1Gi, found: rows, within: 5%, why: x")
    assert (found.name, found.unit, found.within, found.why) == ("temp", "B", 0.05, "x")
    assert (found.compared, found.bounded, found.decides, found.sides) == (True, False, True, 3)
    assert texts(found) == ["2Gi", "2 * 1Gi", "rows"]
    assert (found.premise, found.each) == (False, False)
    assert found.where.startswith("claims.yaml:")


def test_both_ends_of_what_was_published(figure):
    found = figure("name: range, published: [50, 800], found: rows * topk, premise: true")
    assert [end.text for end in found.published] == ["50", "800"]
    assert (found.sides, found.compared, found.premise) == (2, True, True)


CELLS = {"64Ki": 65536, "3.70": 3.7, "26581.04": 26581.04, "1_000": 1000, "1 + 1": 2, "OOM": "OOM"}
CELLS |= {"16K": "16K", "null": None, "~": None, "''": "", "true": None}


@pytest.mark.parametrize(("cell", "value"), CELLS.items())
def test_cells_are_numbers_words_or_nothing(read, cell, value):
    table = f"t: {{source: paper, columns: [n, a], rows: [[1, {cell}]], units: {{a: ms, b: GB}}}}"
    (claim,) = read(document("name: x, published: 1, found: 1", tables=table, more="table: t"))
    assert claim.table.rows == ((1, value),)
    assert claim.table.units == "a ms, b GB"
    named = claim.table.numbers(claim.table.rows[0])
    assert named == ({"n": 1, "a": value} if isinstance(value, int | float) else {"n": 1})


@pytest.mark.parametrize(("units", "text"), [("", "ms"), (", units: '%'", "%")])
def test_units_of_a_table(read, units, text):
    table = f"t: {{source: paper, columns: [n, a], rows: [[1, 2]]{units}}}"
    (claim,) = read(document("name: x, published: 1, found: 1", tables=table, more="table: t"))
    assert claim.table.units == text
