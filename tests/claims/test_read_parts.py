"""The figures of a claim: three columns that never mix, tolerances with their reasons, bounds."""

import pytest

from harness.core.errors import UsageError
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


ONE_COLUMN = {
    **dict.fromkeys(["published: 5", "published: [5, 6]", "follows: 2 + 3", "found: rows"], False),
    **dict.fromkeys(["published: 5, at_most: 6", "follows: 5, at_least: 4"], True),
    "found: rows, at_least: 1, at_most: 9": True,
}


@pytest.mark.parametrize(("text", "bounded"), ONE_COLUMN.items())
def test_one_column_decides_only_beside_a_bound(figure, text, bounded):
    found = figure(f"name: a, {text}")
    assert (found.bounded, found.compared, found.decides, found.sides) == (bounded, False, bounded, 1)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("found: tile * rows(", r'claims.yaml:\d+: "tile \* rows\(" is not arithmetic'),
        ("found: rows.real", '"rows.real" is not arithmetic'),
        ("published: 1, found: 1, within: -1%", r"claims.yaml:\d+: .*not a quantity"),
        ("published: 1, found: 1, within: 200%, why: x", "is not between 0 % and 100 %"),
        ("published: 1, found: 1, within: 5%", r"figure size: a tolerance needs its reason \(why: …\)"),
        ("published: 1, within: 5%, why: x", "within is for figures that are compared"),
        ("published: 1, at_most: 2, within: 5%, why: x", "within is for figures that are compared"),
        ("published: 1, found: 1, premise: 1", r"claims.yaml:\d+: premise is true or false, not 1"),
        ("published: 1, found: 1, each: maybe", "each is true or false, not maybe"),
        ("published: 1, fund: 2", r'claims.yaml:\d+: unknown key "fund" of a figure; nearest: "found"'),
        ("published: 1, published: 2", 'duplicate key "published"'),
        ("published: 1, theirs: 1", 'unknown key "theirs" of a figure'),
        ("published: [1, 2, 3], found: 1", r"published is a number, or both ends of a range: \[50, 800\]"),
        ("published: [1], found: 1", "both ends of a range"),
        ("unit: B", "figure size has neither published, follows nor found"),
        ("at_most: 1", "figure size has neither published, follows nor found"),
        ("published: 1, found: 1, at_most: 2", "a bound is of one of published, follows and found, not of"),
        ("found: [1, 2]", "an expression needs one value"),
        ("published: 1, found: null", "an expression needs one value"),
    ],
)
def test_a_slip_in_a_figure_is_an_error_with_its_place(figure, text, why):
    with pytest.raises(UsageError, match=why):
        figure(f"name: size, {text}")


def test_a_figure_has_a_name_of_its_own(figure):
    with pytest.raises(UsageError, match=r"claims.yaml:\d+: a figure needs name"):
        figure("published: 1, found: 1")
    with pytest.raises(UsageError, match=r"claims.yaml:\d+: two figures of a claim are called other"):
        figure("name: other, published: 1")


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
