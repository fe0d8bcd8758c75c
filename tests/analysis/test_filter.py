"""Selection of a run's records by flags."""

import pytest

from harness.analysis.filter import Selection, rebase
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
def test_matching_records_are_selected_with_their_suites(run, selection, kept, suites):
    info, records = run
    narrowed, left = selection.of(info, iter(records))
    assert left == [records[place] for place in kept]
    assert list(narrowed["suites"]) == suites
    cases = {case for suite in narrowed["suites"].values() for case in suite["cases"]}
    assert cases == {record.case for record in left}


INFO = {
    "run": "r1",
    "suites": {
        "mask": {"baseline": "mask/broadcast", "implementations": ["mask/broadcast", "mask/scatter"]},
        "topk": {
            "baseline": "topk/exact",
            "implementations": ["topk/exact", "topk/two[keep=1]", "topk/two[keep=2]", "topk/four[keep=4]"],
        },
    },
}


def baselines(name):
    return {suite: described["baseline"] for suite, described in rebase(INFO, name)["suites"].items()}


@pytest.mark.parametrize("name", ["scatter", "mask/scatter"])
def test_every_suite_that_has_it_gets_the_baseline(name):
    assert baselines(name) == {"mask": "mask/scatter", "topk": "topk/exact"}
    assert INFO["suites"]["mask"]["baseline"] == "mask/broadcast"


@pytest.mark.parametrize("name", ["four", "topk/four", "four[keep=4]", "topk/four[keep=4]"])
def test_options_may_be_left_out_where_there_is_one_variant(name):
    assert baselines(name)["topk"] == "topk/four[keep=4]"


def test_an_ambiguous_baseline_is_an_error():
    assert baselines("two[keep=2]")["topk"] == "topk/two[keep=2]"
    with pytest.raises(UsageError, match=r"several in topk; write two\[keep=1\] or two\[keep=2\]"):
        rebase(INFO, "two")
