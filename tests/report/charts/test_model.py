"""The published curves that charts draw: implementations exist, and claims.py has the same numbers."""

from itertools import permutations

from harness.catalog import discovery
from harness.claims.model import claims_of
from harness.report.charts.model import published_curves


def test_only_curves_of_requested_families_are_read():
    assert published_curves({"mask", "../attention"}) == []
    found = published_curves({"mask", "attention"})
    assert [(curve.mode, curve.points[-1]) for curve in found] == [
        ("fwd", (1 << 20, 6537.68 / 228.28)),
        ("fwd_bwd", (1 << 20, 6531.88 / 303.52)),
    ]


def test_every_curve_has_known_implementations_and_numbers_from_the_claims():
    catalog = discovery.builtin()
    for curve in published_curves(catalog.families):
        family = catalog.family(catalog.implementation(curve.implementation).family)
        assert catalog.implementation(curve.baseline).family == family.name
        assert curve.mode in family.modes
        tables = [claim.table for claim in claims_of(family) if claim.table]
        assert any(set(curve.points) <= speedups(table) for table in tables), curve.source


def speedups(table):
    """(length, one time over another) of every row and every two of its columns."""
    rows = [[cell for cell in row if isinstance(cell, int | float)] for row in table.rows]
    return {(row[0], one / other) for row in rows if row for one, other in permutations(row[1:], 2) if other}
