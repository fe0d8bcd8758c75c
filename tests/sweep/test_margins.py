import pytest

from harness.core.errors import UsageError
from harness.sweep.margins import Accept, GateMargins, why_accepted

CASE = "mask/scatter@batch=1,seq=4096:fwd:cpu"
STAGED = "topk/two_stage[buckets=64,keep=2]@batch=1,seq=4096:fwd:cpu"

WHOLE = """\
suites:
  mask:
    family: mask
    delta: 5%
    accept:
      mask/scatter@*: a rewrite that trades bytes for time
      "topk/two_stage[buckets=64,keep=2]@*":
        temp_bytes: keeps both stages
        time: is slower for it
  plain: {family: mask}
"""


def test_what_a_suite_says_to_the_gate(bench):
    suites = bench(WHOLE).suites
    staged = "topk/two_stage[buckets=64,keep=2]@*"
    assert suites["mask"].gate == GateMargins(
        0.05,
        (
            Accept("bench.yaml:6", "mask/scatter@*", None, "a rewrite that trades bytes for time"),
            Accept("bench.yaml:8", staged, "temp_bytes", "keeps both stages"),
            Accept("bench.yaml:9", staged, "time", "is slower for it"),
        ),
    )
    assert suites["plain"].gate == GateMargins()


def test_which_figures_are_accepted(bench):
    accepts = bench(WHOLE).suites["mask"].gate.accept
    assert why_accepted(CASE, "flops", accepts) == "a rewrite that trades bytes for time"
    assert why_accepted(STAGED, "temp_bytes", accepts) == "keeps both stages"
    assert why_accepted(STAGED, "flops", accepts) is None
    assert why_accepted(CASE.replace("scatter", "gather"), "flops", accepts) is None


def test_a_figures_own_reason_comes_before_one_for_all():
    blanket, own = Accept("x", "*", None, "all"), Accept("x", CASE, "flops", "its own")
    assert why_accepted(CASE, "flops", (blanket, own)) == "its own"
    assert why_accepted(CASE, "time", (blanket, own)) == "all"


def test_that_a_case_may_go_is_said_of_itself():
    blanket, own = Accept("x", "*", None, "all"), Accept("x", CASE, "case", "it moved")
    assert why_accepted(CASE, "case", (blanket,)) is None
    assert why_accepted(CASE, "case", (blanket, own)) == "it moved"


SLIPS = [
    ("delta: 0%", 3, '"0%" is not between'),
    ("delta: 100%", 3, 'delta "100%" must be below 100 %'),
    ("delta: 1", 3, 'delta "1" must be below 100 %'),
    ("delta: 5 ms", 3, 'unknown unit "ms"'),
    ("delta:", 3, "delta needs one value"),
    ("delta: [5%]", 3, "delta needs one value"),
    ("accept: mask/scatter", 3, "accept must be a mapping"),
    ("accept: [mask/scatter]", 3, "accept must be a mapping"),
    ("accept:\n      a: ''", 4, "accept a needs a reason"),
    ("accept:\n      a:", 4, "accept a needs a reason"),
    ("accept:\n      a: true", 4, "accept a needs a reason"),
    ("accept:\n      a: [x]", 4, "accept a needs a reason"),
    ("accept:\n      a: {}", 4, "accept a names no figure"),
    ("accept: {a: {temp_bites: x}}", 3, 'unknown figure "temp_bites" to accept; nearest: "temp_bytes"'),
    ("accept:\n      a:\n        incorrect: x", 5, 'unknown figure "incorrect" to accept; '),
    ("accept:\n      a:\n        time: '  '", 5, "accept time needs a reason"),
    ("accept:\n      a:\n        time: {x: y}", 5, "accept time needs a reason"),
]


@pytest.mark.parametrize(("lines", "number", "message"), SLIPS)
def test_slips_stop_the_file_from_loading(bench, lines, number, message):
    with pytest.raises(UsageError) as caught:
        bench(f"suites:\n  mask:\n    {lines}\n    family: mask\n")
    assert str(caught.value).startswith(f"bench.yaml:{number}: {message}")


def test_layers_are_a_positive_count(bench):
    text = "suites:\n  mask:\n    family: mask\n    layers: {}\n"
    assert bench(text.format(58)).suites["mask"].layers == 58
    assert bench("suites:\n  mask: {family: mask}\n").suites["mask"].layers is None
    for wrong in ("0", "many", "[1, 2]"):
        with pytest.raises(UsageError, match=r"bench\.yaml:4: "):
            bench(text.format(wrong))
