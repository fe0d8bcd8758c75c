"""The documents: the answer first, each claim with its source and the command that checks it again."""

from dataclasses import replace

import pytest

from harness.claims.model import (
    CONTRADICTED,
    IMPLAUSIBLE,
    VERDICTS,
    Citation,
    FigureValue,
    Reading,
    Source,
    Verdict,
)
from harness.claims.page import HEADLINES, PAGES, page
from harness.claims.page_diff import parts
from tests.claims.judged import ALL, BESIDE, FOREIGN, MEMORY, PULL, RATE, SUM, SURPRISE, claim, figure

VERSIONS = {"jax": "0.10.2", "libtpu": "0.0.52"}
TEXT = page(ALL, VERSIONS)
WHOLE = """\
### mask/memory

What memory says

- source: [Pull #1, description](https://example.org/1) @ 1a2b3c4
- hardware: a TPU (here: tpu:v5p)
- shape: rows 1Ki, seq 128Ki
- verdict: **reproduced**: Temp: 2 GiB is published, and found.
- check it again: `seqsweep claims mask/memory` (needs `pip install -e '.[tpu]'`)

| figure | published | follows from it | found here | tolerance | found by |
| --- | --- | --- | --- | --- | --- |
| temp | 2.000 GiB | – | 2.001 GiB | 5 % (rounded) | compiled for tpu:v5p |
| ratio | 50× to 800× | 17179869184 / 268435456 = 64× | – | exact | arithmetic |
"""


def section(title, text=TEXT):
    return next(part for part in text.split("\n## ") if part.startswith(title))


def test_there_is_a_page_of_the_claims_and_one_of_context():
    assert PAGES == {"CLAIMS.md": False, "CLAIMS_CONTEXT.md": True}
    assert "mask/beside" not in TEXT
    beside = page(ALL, VERSIONS, context=True)
    assert "### mask/beside" in beside
    assert "**context** (contradicted): It is more." in beside
    assert "mask/memory" not in beside
    for text in (TEXT, beside):
        assert "Wrong? Open an issue with the source, and the verdict changes." in text


def test_the_head_counts_and_says_what_figures_are_exact_for():
    head = TEXT.split("\n## ")[0]
    assert "7 claims: 1 contradicted, 1 implausible, 1 inconsistent" in head
    assert "jax 0.10.2, libtpu 0.0.52" in head
    assert "seqsweep claims --check" in head
    assert "nothing here was timed" in " ".join(head.split())
    assert "for no compiler;" in page(ALL, {})


def test_the_answer_stands_first():
    assert [line for line in TEXT.splitlines() if line.startswith("## ")] == [
        "## What does not hold",
        "## What does not agree besides",
        "## Reproduced by compiling or running",
        "## What only the hardware would settle",
        "## The verdicts",
        "## Words",
        "## mask",
    ]
    assert "| [mask/rate](#maskrate) | The hardware cannot be that fast. |" in section("What does not hold")
    besides = section("What does not agree besides")
    assert "| [mask/sum](#masksum) | What sum says | inconsistent |" in besides
    assert "mask/surprise" in besides
    assert "mask/rate" not in besides


def test_what_holds_and_what_would_settle_the_rest_have_lists_of_their_own():
    held = section("Reproduced by compiling or running")
    assert "| [mask/memory](#maskmemory) | What memory says | reproduced |" in held
    assert "mask/foreign" in held
    open_ = section("What only the hardware would settle")
    assert "| It takes a TPU. | [mask/time](#masktime) |" in open_
    assert "| the time, on a TPU | [mask/foreign](#maskforeign) |" in open_
    assert "| libtpu is not installed. | [mask/lacking](#masklacking) |" in open_
    assert "mask/memory" not in open_
    twin = replace(FOREIGN, claim=replace(FOREIGN.claim, id="twin"))
    both = section("What only the hardware would settle", page([FOREIGN, twin], VERSIONS))
    assert "| the time, on a TPU | [mask/foreign](#maskforeign), [mask/twin](#masktwin) |" in both


def test_headlines_are_ten_at_most_and_only_of_what_does_not_hold():
    many = [
        Verdict(claim(f"c{place}", IMPLAUSIBLE, headline=f"Worst {place}."), IMPLAUSIBLE, "x")
        for place in range(HEADLINES + 2)
    ]
    text = page([*many, replace(MEMORY, claim=claim("fine", headline="All is well."))], VERSIONS)
    assert section("What does not hold", text).count("Worst") == 10
    assert "| [mask/c11](#maskc11) | What c11 says | implausible |" in section(
        "What does not agree besides", text
    )
    assert "All is well." not in text


def test_the_words_are_explained():
    words = section("The verdicts")
    assert [word for word in VERDICTS if f"| {word} |" not in words] == []
    assert "| reproduced | 1 | compiled or run here" in words
    assert "| adds up | 0 |" in words
    assert "| NSA |" in section("Words")


def test_a_claim_in_the_document():
    assert WHOLE in TEXT
    rate = "65536 / 3.7 = 4\u202f990 TFLOP/s | ≤ 2\u202f250 TFLOP/s ✗"
    assert f"| rate, at 64Ki | – | {rate} | – | the device's file |" in TEXT
    assert "| time | 153 ms | – | – | – | – |" in TEXT
    assert "| seen | – | – | 4.8642 / 2 = 2.432× | – | compiled for tpu:v5p |" in TEXT
    assert "**contradicted** (expected reproduced): Size" in TEXT
    assert "| temp | 1 | – | none: libtpu is not installed | exact | arithmetic |" in TEXT
    assert "- only the hardware would settle: the time, on a TPU" in TEXT


def test_the_command_names_the_extra_that_it_needs():
    assert "- check it again: `seqsweep claims mask/rate`\n" in TEXT
    both = replace(MEMORY.readings[0], targets=("cuda:h200", "host", "tpu:v6e"))
    text = page([replace(MEMORY, readings=(both,))], VERSIONS)
    assert "`seqsweep claims mask/memory` (needs `pip install -e '.[cuda,tpu]'`)" in text


def test_published_rows_stand_once_as_they_were_written():
    assert TEXT.count("26581.04") == 1
    rows = "| 64Ki | 3.70 |\n| 128Ki | OOM |\n| 1000 | – |\n| 1_000_000 | 26581.04 |"
    cited = "As published, in ms: [Pull #1, description](https://example.org/1) @ 1a2b3c4."
    assert f"### Table b200 of mask\n\n{cited}\n\n| n | dense |\n| ---: | ---: |\n{rows}\n" in TEXT
    assert TEXT.count("- rows: [b200](#table-b200-of-mask)") == 2  # of rate, and of sum


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (Source("a", "A thread", version="1a2b3c4"), "A thread @ 1a2b3c4"),
        (Source("a", "A thread"), "A thread"),
        (Source("a", "arXiv 2506.04165, abstract", version="2506.04165"), "arXiv 2506.04165, abstract"),
        (Source("a", "A thread", version="9f", url="https://a.org"), "[A thread](https://a.org) @ 9f"),
    ],
)
def test_a_version_stands_beside_its_source_where_it_adds_something(source, line):
    one = Verdict(claim("one", sources=(Citation(source, "3"),)), CONTRADICTED, "x")
    assert f"\n- source: {line}\n" in page([one], VERSIONS)


def test_a_source_cited_twice_is_named_once():
    one = Verdict(claim("one", sources=(Citation(PULL, "3"), Citation(PULL, "5"))), CONTRADICTED, "x")
    assert page([one], VERSIONS).count("[Pull #1, description]") == 1


def test_the_document_is_the_same_for_the_same_figures():
    assert page(tuple(ALL), dict(VERSIONS)) == TEXT
    assert TEXT.endswith("\n")
    assert not TEXT.endswith("\n\n")
    assert page([], VERSIONS).startswith("# Published numbers")
    assert page([MEMORY], VERSIONS, context=True).startswith("# Numbers beside the claims")


def test_a_bar_or_a_line_break_in_a_text_does_not_break_a_table():
    told = Reading(figure("a|b", published="1"), published=FigureValue(1), missing="one\ntwo")
    text = page([Verdict(claim("bar"), CONTRADICTED, "x", (told,))], VERSIONS)
    assert "| a\\|b | 1 | – | none: one two | – | – |" in text


def test_the_parts_of_a_document_are_its_claims():
    found = parts(TEXT)
    own = [one.claim.name for one in ALL if one is not BESIDE]
    assert [name for name in found if "/" in name] == own
    assert found["mask/memory"] == WHOLE.removeprefix("### mask/memory\n").strip()
    assert "26581.04" in found["mask"]  # tables stand before the first claim
    changed = parts(page([MEMORY, SURPRISE, SUM, RATE], VERSIONS))
    assert changed["mask/memory"] == found["mask/memory"]
    assert changed["The verdicts"] != found["The verdicts"]
