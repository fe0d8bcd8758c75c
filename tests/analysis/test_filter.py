"""Which records of a run the flags keep, taken one by one."""

import pytest

from harness.analysis.filter import Selection
from harness.core.errors import UsageError


@pytest.fixture
def run(record):
    """(info, records): two suites, two lengths, three implementations."""
    records = [record(name, seq, [1.0]) for seq in (4096, 8192) for name in ("base", "scatter")]
    records.append(record("base", 4096, [1.0], options={"k": 2}))
    described = {"family": "mask", "baseline": "mask/base"}
    info = {
        "suites": {
            "a": {**described, "cases": [one.case for one in records[:4]]},
            "b": {**described, "cases": [records[4].case]},
        }
    }
    return info, records


@pytest.mark.parametrize(
    ("selection", "kept", "suites"),
    [
        (Selection(), [0, 1, 2, 3, 4], ["a", "b"]),
        (Selection(suites=("b",)), [4], ["b"]),
        (Selection(impls=("scatter",)), [1, 3], ["a"]),
        (Selection(impls=("mask/base[k=2]",)), [4], ["b"]),
        (Selection(impls=("base",), seqs=("4Ki",)), [0, 4], ["a", "b"]),
        (Selection(suites=("a",), seqs=("8192",), modes=("fwd",), devices=("cpu",)), [2, 3], ["a"]),
    ],
)
def test_what_matches_is_kept_with_its_suites(run, selection, kept, suites):
    info, records = run
    narrowed, left = selection.of(info, iter(records))
    assert left == [records[place] for place in kept]
    assert list(narrowed["suites"]) == suites
    assert {case for suite in narrowed["suites"].values() for case in suite["cases"]} == {
        one.case for one in left
    }


@pytest.mark.parametrize(
    ("selection", "says"),
    [
        (Selection(suites=("c",)), 'the run has no suite "c"'),
        (Selection(impls=("scater",)), '--impl: the run has no "scater"; nearest: "scatter"'),
        (Selection(seqs=("1Ki",)), '--seq: the run has no "1024"'),
        (Selection(seqs=("much",)), "--seq: "),
        (Selection(suites=("b",), impls=("scatter",)), '--impl: the run has no "scatter"'),
    ],
)
def test_a_word_that_the_run_does_not_have(run, selection, says):
    info, records = run
    with pytest.raises(UsageError) as refusal:
        selection.of(info, iter(records))
    assert str(refusal.value).startswith(says)
