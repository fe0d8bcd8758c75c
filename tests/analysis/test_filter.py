import pytest

from harness.analysis.filter import rebase
from harness.core.errors import UsageError

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


def test_of_several_variants_one_has_to_be_named():
    assert baselines("two[keep=2]")["topk"] == "topk/two[keep=2]"
    with pytest.raises(UsageError, match=r'"two" is several in topk; write two\[keep=1\] or two\[keep=2\]'):
        rebase(INFO, "two")


def test_an_unknown_baseline_is_refused_with_the_nearest():
    with pytest.raises(UsageError, match='the run has no "scater"; nearest: "scatter"'):
        rebase(INFO, "scater")
