"""A published curve is made of the columns that its table names, and a slip is told with its line."""

from dataclasses import replace

import pytest

from harness.claims.curves import published_curves
from harness.core.errors import UsageError
from tests.claims.planted import CATALOG, FAMILY

FILE = """\
sources:
  pull: {title: "Pull #1, description", of: "Pull #1"}
tables:
  plain: {source: pull, columns: [n], rows: [[1]]}
  rows:
    source: pull
    columns: [n, dense, sparse]
    curves:
      - {impl: b, over: a, mode: fwd, times: [n, dense, sparse], hardware: GB200}
    rows:
      - [64Ki, 8.0, 4.0]
      - [128Ki, 30, OOM]
      - [256Ki, 120, 12]
claims: []
"""


@pytest.fixture
def curves(tmp_path):
    def read(text):
        (tmp_path / "claims.yaml").write_text(text)
        return published_curves(replace(FAMILY, file=str(tmp_path / "family.py")), CATALOG)

    return read


def test_a_curve_is_the_ratio_of_two_columns_where_both_have_a_number(curves):
    (curve,) = curves(FILE)
    assert (curve.implementation, curve.baseline, curve.mode) == ("mask/b", "mask/a", "fwd")
    assert curve.source == "Pull #1, GB200"
    assert curve.points == ((65536, 2.0), (262144, 10.0))


def test_a_family_without_claims_has_no_curve(tmp_path):
    assert published_curves(replace(FAMILY, file=str(tmp_path / "family.py")), CATALOG) == ()


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("impl: b", "impl: bb", 'claims.yaml:9: unknown implementation "bb"'),
        ("mode: fwd", "mode: forward", "claims.yaml:9: mode is one of fwd, bwd, fwd_bwd"),
        ("dense, sparse], hard", "dense], hard", "claims.yaml:9: times are three columns"),
        ("dense, sparse], hard", "dense, spares], hard", 'has no column "spares"; nearest: "sparse"'),
        (", hardware: GB200", "", "claims.yaml:9: a curve needs hardware"),
        ("over: a", "ober: a", 'claims.yaml:9: unknown key "ober" of a curve; nearest: "over"'),
    ],
)
def test_a_slip_is_told_with_its_line(curves, old, new, why):
    with pytest.raises(UsageError) as caught:
        curves(FILE.replace(old, new, 1))
    assert why in str(caught.value)
