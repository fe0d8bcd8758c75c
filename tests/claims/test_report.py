"""Verdicts made by hand, as they stand on a terminal and in JSON."""

import json

import pytest
from rich.console import Console

from harness.claims.model import CONTEXT, VERDICTS
from harness.claims.report import STYLES, claims_data, print_claims, totals
from tests.claims.judged import ALL, BESIDE, LACKING, MEMORY, PULL, SURPRISE


def test_totals_are_in_the_order_of_the_verdicts_and_context_is_not_counted():
    assert totals(ALL) == (
        "7 claims: 1 contradicted, 1 implausible, 1 inconsistent, 1 reproduced, "
        "1 reproduced on another target, 2 not checkable here; 1 more for context"
    )
    assert totals([MEMORY]) == "1 claim: 1 reproduced"
    assert totals([BESIDE]) == "0 claims; 1 more for context"
    assert totals([]) == "0 claims"


def test_every_word_has_a_style():
    assert STYLES.keys() == {*VERDICTS, CONTEXT}


def render(verdicts, width=140):
    console = Console(width=width, record=True, file=open("/dev/null", "w"), highlight=False)  # noqa: SIM115, PTH123
    with console.file:
        print_claims(console, verdicts)
        return console.export_text()


def test_what_was_published_stands_beside_what_follows_and_what_is_found():
    text = render(ALL, 260)
    heading = next(line for line in text.splitlines() if "follows from it" in line)
    assert heading.index("published") < heading.index("follows from it") < heading.index("found here")
    (line,) = [line for line in text.splitlines() if "mask/memory" in line]
    assert line.split()[1:6] == ["temp", "2.000", "GiB", "2.001", "GiB"]
    assert line.index("2.000") == heading.index("published")
    assert line.index("2.001") == heading.index("found here")
    (line,) = [line for line in text.splitlines() if "50× to 800×" in line]
    assert line.index("17179869184 / 268435456 = 64×") == heading.index("follows from it")
    (line,) = [line for line in text.splitlines() if "rate at 64Ki" in line]
    assert line.index("4\u202f990 TFLOP/s") < line.index("≤ 2\u202f250 TFLOP/s")
    assert text.strip().startswith(totals(ALL))


def test_a_verdict_that_nobody_expected_is_shown_plainly():
    assert "contradicted (expected reproduced): Size: 1 is" in " ".join(render([SURPRISE]).split())
    assert "expected" not in render([LACKING])


def test_context_is_called_so():
    assert "context: It is more." in " ".join(render([BESIDE]).split())


@pytest.mark.parametrize("width", [60, 80, 200])
def test_it_fits_the_terminal(width):
    assert max(len(line) for line in render(ALL, width).splitlines()) <= width


def test_what_leaves_the_program_is_exact_and_plain():
    data = json.loads(json.dumps(claims_data(ALL)))["claims"]
    assert [one["id"] for one in data][:2] == ["mask/memory", "mask/rate"]
    memory, rate, time, surprise, lacking, _, foreign, beside = data
    (source,) = memory["sources"]
    assert list(source) == ["title", "of", "version", "url", "lines"]
    assert list(source.values()) == [PULL.title, PULL.of, PULL.version, PULL.url, "46"]
    assert (memory["shape"], memory["targets"]) == ({"rows": 1024, "seq": 131072}, ["tpu:v5p"])
    temp, ratio = memory["figures"]
    assert (temp["published"], temp["follows"], temp["found"]) == (2**31, None, 2**31 + 2**20)
    assert (temp["within"], temp["tolerance"]) == (0.05, "5 % (rounded)")
    assert temp["method"] == ["compiled for tpu:v5p"]
    assert (ratio["published"], ratio["follows"], ratio["method"]) == ([50, 800], 64.0, ["arithmetic"])
    (broken,) = rate["figures"]
    assert (broken["follows"], broken["at_most"], broken["at_least"]) == (4990.0, 2250, None)
    assert (broken["row"], broken["rows"], broken["agrees"]) == ("64Ki", 2, False)
    assert rate["table"]["rows"][1] == [131072, "OOM"]
    assert (rate["table"]["id"], rate["headline"]) == ("b200", "The hardware cannot be that fast.")
    assert [one["kind"] for one in memory["figures"] + rate["figures"]] == ["compared"] * 2 + ["bounded"]
    figures = [(one["kind"], one["published"], one["found"]) for one in time["figures"]]
    assert figures == [("shown", 153, None), ("shown", None, 2.4321)]
    assert time["figures"][0]["agrees"] is None
    assert (surprise["unexpected"], surprise["verdict"], surprise["headline"]) == (True, "contradicted", None)
    assert (lacking["incomplete"], lacking["unexpected"]) == ("libtpu is not installed", False)
    assert lacking["figures"][0]["missing"] == "libtpu is not installed"
    assert foreign["needs"] == "the time, on a TPU"
    assert (beside["verdict"], beside["judged"], beside["context"]) == ("context", "contradicted", True)
    assert beside["sources"][0] == dict.fromkeys(source) | {"title": "A paper"}


def test_the_keys_of_the_data_are_these():
    """Others read them: a key that goes, or is renamed, breaks what they wrote."""
    (one,) = claims_data([MEMORY])["claims"]
    assert " ".join(one) == (
        "id family says sources hardware targets shape verdict judged sentence headline needs context "
        "reproductions expect unexpected incomplete figures table"
    )
    assert " ".join(one["figures"][0]) == (
        "name kind unit published follows found at_least at_most within premise agrees row rows method "
        "targets missing tolerance"
    )
