"""The documents: the answer first, each claim with its source and the command that checks it again."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.claims.model import Citation, FigureValue, Reading, Source, Verdict, Word
from harness.claims.page import HEADLINES, PAGES, page, parts
from tests.claims.judged import ALL, BESIDE, FOREIGN, MEMORY, PULL, RATE, SUM, SURPRISE, claim, figure

VERSIONS = {"jax": "0.10.2", "libtpu": "0.0.52"}
GOLDEN = Path(__file__).parents[1] / "golden"
TEXT = page(ALL, VERSIONS)


def section(title, text=TEXT):
    return next(part for part in text.split("\n## ") if part.startswith(title))


@pytest.mark.parametrize("name", PAGES)
def test_the_pages_of_claims_and_of_context(name):
    context = name == "CLAIMS_CONTEXT.md"
    known = {False: "claims.md", True: "claims_context.md"}[context]
    assert PAGES[name] is context
    assert page(ALL, VERSIONS, context=context) == (GOLDEN / known).read_text(encoding="utf-8")


def test_claims_that_the_same_would_settle_share_a_line():
    twin = replace(FOREIGN, claim=replace(FOREIGN.claim, id="twin"))
    both = section("What only the hardware would settle", page([FOREIGN, twin], VERSIONS))
    assert "| the time, on a TPU | [mask/foreign](#maskforeign), [mask/twin](#masktwin) |" in both


def test_the_command_names_every_extra_that_it_needs():
    both = replace(MEMORY.readings[0], targets=("cuda:h200", "host", "tpu:v6e"))
    text = page([replace(MEMORY, readings=(both,))], VERSIONS)
    assert "`seqsweep claims mask/memory` (needs `pip install -e '.[cuda,tpu]'`)" in text


def test_headlines_are_ten_at_most_and_only_of_what_does_not_hold():
    many = [
        Verdict(claim(f"c{place}", Word.IMPLAUSIBLE, headline=f"Worst {place}."), Word.IMPLAUSIBLE, "x")
        for place in range(HEADLINES + 2)
    ]
    text = page([*many, replace(MEMORY, claim=claim("fine", headline="All is well."))], VERSIONS)
    assert section("What does not hold", text).count("Worst") == 10
    assert "| [mask/c11](#maskc11) | What c11 says | implausible | – |" in section(
        "What else does not hold", text
    )
    assert "All is well." not in text


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
    one = Verdict(claim("one", sources=(Citation(source, "3"),)), Word.CONTRADICTED, "x")
    assert f"\n- source: {line}\n" in page([one], VERSIONS)


def test_a_source_cited_twice_is_named_once():
    one = Verdict(claim("one", sources=(Citation(PULL, "3"), Citation(PULL, "5"))), Word.CONTRADICTED, "x")
    assert page([one], VERSIONS).count("[Pull #1, description]") == 1


def test_a_page_without_claims_or_compilers_has_its_head():
    assert page([], VERSIONS).startswith("# Published numbers")
    assert page([MEMORY], VERSIONS, context=True).startswith("# Numbers for context")
    assert "for no compiler;" in page(ALL, {})


def test_a_bar_or_a_line_break_in_a_text_does_not_break_a_table():
    told = Reading(figure("a|b", published="1"), published=FigureValue(1), missing="one\ntwo")
    text = page([Verdict(claim("bar"), Word.CONTRADICTED, "x", (told,))], VERSIONS)
    assert "| a\\|b | 1 | – | none: one two | – | – |" in text


def test_the_parts_of_a_document_are_its_claims():
    found = parts(TEXT)
    own = [one.claim.name for one in ALL if one is not BESIDE]
    assert [name for name in found if "/" in name] == own
    assert (
        found["mask/memory"] == TEXT.partition("### mask/memory\n")[2].partition("### mask/rate\n")[0].strip()
    )
    assert "26581.04" in found["mask"]  # tables stand before the first claim
    changed = parts(page([MEMORY, SURPRISE, SUM, RATE], VERSIONS))
    assert changed["mask/memory"] == found["mask/memory"]
    assert changed["The verdicts"] != found["The verdicts"]
