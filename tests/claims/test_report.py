"""Verdicts made by hand, as they stand on a terminal and in JSON."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from harness.claims.documents import Source
from harness.claims.model import Figure, Reading, Verdict, Word
from harness.claims.report import HEADLINES, PAGES, alike, claims_data, page, parts, print_claims, totals
from harness.claims.wording import value_text
from tests.claims.judged import ALL, BESIDE, FOREIGN, MEMORY, RATE, SUM, SURPRISE, claim

GOLDEN = Path(__file__).parents[1] / "golden"


def test_totals_are_in_the_order_of_the_verdicts_and_context_is_not_counted():
    assert totals(ALL) == (
        "7 claims: 1 contradicted, 1 implausible, 1 inconsistent, 1 reproduced, "
        "1 reproduced on another target, 2 not checkable here; 1 more for context"
    )
    assert totals([MEMORY]) == "1 claim: 1 reproduced"
    assert totals([BESIDE]) == "0 claims; 1 more for context"
    assert totals([]) == "0 claims"


def render(verdicts, width=140):
    console = Console(width=width, record=True, file=open("/dev/null", "w"), highlight=False)  # noqa: SIM115, PTH123
    with console.file:
        print_claims(console, verdicts)
        return console.export_text()


@pytest.mark.parametrize("width", [60, 80, 200])
def test_it_fits_the_terminal(width):
    assert max(len(line) for line in render(ALL, width).splitlines()) <= width


def test_a_table_of_verdicts():
    text = "\n".join(line.rstrip() for line in render(ALL, 100).splitlines()) + "\n"
    assert text == (GOLDEN / "claims_100.txt").read_text(encoding="utf-8")


def test_what_leaves_the_program_is_exact_and_plain():
    """Others read the keys: one that goes, or is renamed, breaks what they wrote."""
    lines = [json.dumps(one, ensure_ascii=False) for one in claims_data(ALL)["claims"]]
    assert lines == (GOLDEN / "claims.jsonl").read_text(encoding="utf-8").splitlines()


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
    twin = replace(FOREIGN, claim=claim("twin", Word.ELSEWHERE, needs="the time, on a TPU"))
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
        (Source("A thread", version="1a2b3c4"), "A thread @ 1a2b3c4"),
        (Source("A thread"), "A thread"),
        (Source("arXiv 2506.04165, abstract", version="2506.04165"), "arXiv 2506.04165, abstract"),
        (Source("A thread", version="9f", url="https://a.org"), "[A thread](https://a.org) @ 9f"),
    ],
)
def test_a_version_stands_beside_its_source_where_it_adds_something(source, line):
    one = Verdict(claim("one", source=source), Word.CONTRADICTED, "x")
    assert f"\n- source: {line}\n" in page([one], VERSIONS, context=True)


def test_a_page_without_claims_or_compilers_has_its_head():
    assert page([], VERSIONS).startswith("# Published numbers")
    assert page([MEMORY], VERSIONS, context=True).startswith("# Numbers for context")
    assert "for no compiler;" in page(ALL, {})


def test_a_bar_or_a_line_break_in_a_text_does_not_break_a_table():
    told = Reading(Figure("a|b", published=1), missing="one\ntwo")
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


HOST = "compiled for host"


def row(found, tolerance="–", by=HOST, published="4×"):
    return f"| name | {published} | – | {found} | {tolerance} | {by} |"


@pytest.mark.parametrize(
    ("known", "new", "same"),
    [
        (row("≈\u202f1\u202f000×"), row("≈\u202f1\u202f049×"), True),
        (row("≈\u202f1\u202f000×"), row("≈\u202f1\u202f060×"), False),
        (row("≈\u202f1\u202f000×", "25 % (x)"), row("≈\u202f1\u202f200×", "25 % (x)"), True),
        (row("≈\u202f1\u202f000×", "25 % (x)"), row("≈\u202f1\u202f400×", "25 % (x)"), False),
        (row("≈\u202f100×", "2 % (x)"), row("≈\u202f104×", "2 % (x)"), True),  # a twentieth is more
        (row("≈\u202f100×", published="84 %"), row("≈\u202f150×", published="84 %"), False),
        (row("≈\u202f2.749e11"), row("≈\u202f2.75e11"), True),
        (row("≈\u202f1.000 GiB"), row("≈\u202f1020 MiB"), True),
        (row("≈\u202f1.000 GiB"), row("≈\u202f1.000 MiB"), False),
        (row("≈\u202f-1.000 GiB"), row("≈\u202f-1.001 GiB"), True),
        (row("≈\u202f1.000×"), row("≈\u202f1.000 ms"), False),
        (row("≈\u202f8 / 2 = ≈\u202f4×"), row("≈\u202f8.1 / 2 = ≈\u202f4.05×"), True),
        (row("≈\u202f8 / 2 = ≈\u202f4×"), row("≈\u202f8 / 3 = ≈\u202f4×"), False),
        (row("≈\u202f4×"), row("≈\u202f4× ✗"), False),
        (row("≈\u202f4×"), row("≈\u202f4×", "25 % (x)"), False),
        (row("≈\u202f4×", "25 % (x)"), row("≈\u202f4×", "25 % (y)"), False),
        (row("≈\u202f4×"), row("≈\u202f4×", published="4.01×"), False),
        (row("4×", by="compiled for tpu:v5p"), row("4.01×", by="compiled for tpu:v5p"), False),
        ("- verdict: **contradicted**: ≈\u202f2", "- verdict: **contradicted**: ≈\u202f2.01", True),
        ("- verdict: **contradicted**: ≈\u202f2 here.", "- verdict: **implausible**: ≈\u202f2 here.", False),
        ("about ≈ 2", "about ≈ 2.01", False),  # someone's words
        ("one line", "one line\nand another", False),
        ("one line", "one line\n", False),
    ],
)
def test_only_what_another_processor_may_change_may_differ(known, new, same):
    assert alike(known, new) is same
    assert alike(new, known) is same


SENTENCE = "- verdict: **reproduced**: Temp: 7 is published, ≈\u202f{} is found here."


def test_a_verdicts_sentence_may_differ_as_the_rows_that_it_is_of():
    def of(found, share):
        return "\n\n".join([SENTENCE.format(found), row(f"≈\u202f{found}", share)])

    assert alike(of(7, "30 % (x)"), of(8, "30 % (x)"))
    assert not alike(of(7, "30 % (x)"), of(12, "30 % (x)"))
    assert not alike(of(7, "exact"), of(8, "exact"))
    told, other = (of(found, "30 % (x)").replace("verdict", "rows") for found in (7, 8))
    assert not alike(told, other)


NARROW = "\u202f"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (True, "", "yes"), (False, "", "no"), (283467841536, "B", "264.0 GiB"),
        (142606336, "bytes", f"142{NARROW}606{NARROW}336 bytes"), (274877906944, "", "2.749e11"),
        (10142.6, "×", f"10{NARROW}140×"), (6429.02, "×", f"6{NARROW}429×"), (4.3333, "×", "4.333×"),
        (84, "%", "84 %"), (0.0002943, "s", "0.0002943 s"), (-3.25, "", "-3.25"),
        (1268.6, "TFLOP/s", f"1{NARROW}269 TFLOP/s"), ("sha256:0123456789abcdef", "", "sha256:01234567…"),
        ("ok", "", "ok"),
    ],
)  # fmt: skip
def test_values_as_text(value, unit, text):
    assert value_text(value, unit) == text
