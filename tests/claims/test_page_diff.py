"""Two texts of a page: the same but for what another processor may change."""

import pytest

from harness.claims.model import FigureValue, Reading, Verdict, Word
from harness.claims.page import alike, page, parts
from tests.claims.judged import claim, figure

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


def test_what_the_document_marks_is_what_may_differ():
    def of(flops):
        counted = figure("flops", published="8", found='flops("a", "host")', within=0.5, why="x")
        found = FigureValue(flops, varies=True)
        told = Reading(counted, published=FigureValue(8), found=found, agrees=True, by=(HOST,))
        return page([Verdict(claim("one"), Word.REPRODUCED, "x", (told,))], {})

    assert "| flops | 8 | – | ≈\u202f9 | 50 % (x) | compiled for host |" in of(9)
    assert of(9) != of(10)
    assert alike(of(9), of(10))
    assert not alike(of(9), of(99))
    assert "≈ rest on the host's compiler" in of(9)


SENTENCE = "- verdict: **reproduced**: Temp: 7 is published, ≈\u202f{} is found here."


def test_a_verdicts_sentence_may_differ_as_the_rows_that_it_is_of():
    def of(found, share):
        return "\n\n".join([SENTENCE.format(found), row(f"≈\u202f{found}", share)])

    assert alike(of(7, "30 % (x)"), of(8, "30 % (x)"))
    assert not alike(of(7, "30 % (x)"), of(12, "30 % (x)"))
    assert not alike(of(7, "exact"), of(8, "exact"))
    told, other = (of(found, "30 % (x)").replace("verdict", "rows") for found in (7, 8))
    assert not alike(told, other)


def test_parts_are_claims_under_their_headings():
    head = "# Head\n\nall\n\n## mask\n\nrows\n\n### Table t of mask\n\nx\n\n"
    assert parts(f"{head}### mask/one\n\na\n\n### mask/two\n\nb\n") == {
        "": "# Head\n\nall",
        "mask": "## mask\n\nrows\n\n### Table t of mask\n\nx",
        "mask/one": "a",
        "mask/two": "b",
    }
    assert parts("") == {"": ""}
