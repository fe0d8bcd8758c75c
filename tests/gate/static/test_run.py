"""Of a case that has a live base and a line in the committed file, the graver verdict stands."""

import pytest

from harness.gate.static.diff import StaticVerdict
from harness.gate.static.run import _graver_verdict


@pytest.mark.parametrize(
    ("live", "by_file", "stands"),
    [
        ("regressed", "regressed", "live"),
        ("regressed", "unchanged", "live"),
        ("regressed", None, "live"),
        ("unchanged", "regressed", "file"),
        ("unchanged", "new", "live"),
    ],
)
def test_the_graver_stands_and_both_keep_their_notes(live, by_file, stands):
    found = _graver_verdict(StaticVerdict(live, "live", ("one",)), StaticVerdict(by_file, "file", ("two",)))
    verdict = {"live": live, "file": by_file}[stands]
    assert found == (verdict, stands, ("one", "against the file: two"))


def test_what_only_one_of_them_knows_stands_as_it_is():
    known, unknown = StaticVerdict("new", "file", ()), StaticVerdict(None, "it did not run", ())
    assert _graver_verdict(None, known) == known
    assert _graver_verdict(unknown, known) == unknown
