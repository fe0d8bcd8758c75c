"""Hand-made verdicts on a terminal, in JSON and on pages."""

import json
from dataclasses import replace

import pytest
from rich.console import Console

from harness.claims.documents import Source
from harness.claims.model import ClaimVerdict, Figure, FigureResult, Word
from harness.claims.report import HEADLINES, PAGES, alike, claims_data, page, parts, print_claims, totals
from harness.claims.wording import value_text
from tests.claims.verdicts import ALL, BESIDE, FOREIGN, MEMORY, RATE, SUM, SURPRISE, claim
from tests.goldens import assert_golden


def test_totals():
    assert [totals(own) for own in ([MEMORY], [BESIDE], [])] == [
        "1 claim: 1 reproduced",
        "0 claims; 1 more for context",
        "0 claims",
    ]


def render(verdicts, width=140):
    console = Console(width=width, record=True, file=open("/dev/null", "w"), highlight=False)  # noqa: SIM115, PTH123
    with console.file:
        print_claims(console, verdicts)
        return console.export_text()


def test_a_table_of_verdicts():
    assert_golden("claims_100.txt", "\n".join(line.rstrip() for line in render(ALL, 100).splitlines()) + "\n")


def test_json_is_exact_and_plain():
    """Programs read these keys: removing or renaming one breaks them."""
    lines = [json.dumps(one, ensure_ascii=False) for one in claims_data(ALL)["claims"]]
    assert_golden("claims.jsonl", "\n".join(lines) + "\n")


VERSIONS = {"jax": "0.10.2", "libtpu": "0.0.52"}
TEXT = page(ALL, VERSIONS)


@pytest.mark.parametrize(
    ("name", "golden"), [("CLAIMS.md", "claims.md"), ("CLAIMS_CONTEXT.md", "claims_context.md")]
)
def test_the_pages_of_claims_and_of_context(name, golden):
    assert_golden(golden, page(ALL, VERSIONS, context=PAGES[name]))


SOURCES = (
    Source("A thread", of="Pull #1", version="1a2b3c4"),
    Source("A thread", of="Pull #1"),
    Source("arXiv 2506.04165, abstract", of="Pull #1", version="2506.04165"),
    Source("A thread", of="Pull #1", version="9f", url="https://a.org"),
)
# A question that two claims share, all extras, sources with and without versions, more headlines than are
# shown, a headline of what holds, and texts that could break a table
ODD = [
    FOREIGN,
    replace(FOREIGN, claim=claim("twin", Word.ELSEWHERE, needs="the time, on a TPU")),
    replace(MEMORY, results=(replace(MEMORY.results[0], targets=("cuda:h200", "host", "tpu:v6e")),)),
    *(
        ClaimVerdict(claim(f"s{n}", source=source), Word.CONTRADICTED, "x")
        for n, source in enumerate(SOURCES)
    ),
    *(
        ClaimVerdict(claim(f"c{place}", Word.IMPLAUSIBLE, headline=f"Worst {place}."), Word.IMPLAUSIBLE, "x")
        for place in range(HEADLINES + 2)
    ),
    replace(MEMORY, claim=claim("fine", headline="All is well.")),
    ClaimVerdict(
        claim("bar"), Word.CONTRADICTED, "x", (FigureResult(Figure("a|b", published=1), missing="one\ntwo"),)
    ),
]


def test_an_odd_page():
    assert_golden("claims_odd.md", page(ODD, {}))
    assert page([], VERSIONS).startswith("# Published numbers")
    assert page([MEMORY], VERSIONS, context=True).startswith("# Numbers for context")


def test_the_parts_of_a_page_are_its_claims():
    found = parts(TEXT)
    own = [one.claim.name for one in ALL if one is not BESIDE]
    assert [name for name in found if "/" in name] == own
    assert (
        found["mask/memory"] == TEXT.partition("### mask/memory\n")[2].partition("### mask/rate\n")[0].strip()
    )
    assert "26581.04" in found["mask"]  # tables stand before the first claim
    changed = parts(page([MEMORY, SURPRISE, SUM, RATE], VERSIONS))
    assert changed["mask/memory"] == found["mask/memory"]
    assert changed["Verdicts"] != found["Verdicts"]


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
def test_only_numbers_that_depend_on_the_processor_may_differ(known, new, same):
    assert alike(known, new) is same
    assert alike(new, known) is same


SENTENCE = "- verdict: **reproduced**: Temp: 7 is published, ≈\u202f{} is found here."


def test_a_verdicts_sentence_may_differ_like_its_rows():
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
