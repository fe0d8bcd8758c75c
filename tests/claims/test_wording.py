"""Figures and verdicts in words: subject, both numbers, source; digits as they were published."""

import pytest

from harness.claims.model import Word
from harness.claims.wording import (
    bound_text,
    disagreement,
    follows_text,
    found_text,
    method_text,
    published_text,
    tolerance_text,
    value_text,
)

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


@pytest.fixture
def read_figure(verdict):
    """What a figure came to, beside one that decides."""

    def of(figure, **more):
        return verdict(figure, "name: other, published: 1, follows: 1", **more).readings[0]

    return of


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        ("published: 26581.04, unit: ms", f"26{NARROW}581.04 ms"),
        ("published: 3.70, unit: ×", "3.70×"),
        ("published: 6_900", f"6{NARROW}900"),
        ("published: 26581.04 + 0", f"26{NARROW}580"),  # worked out, and no number as it was printed
        ("published: 16Gi, unit: B", "16.00 GiB"),
        ("published: 64Ki", f"65{NARROW}536"),
        ("published: [0.50, 26581.04], unit: ms", f"0.50 ms to 26{NARROW}581.04 ms"),
        ("published: [50, 800], unit: ×", "50× to 800×"),
        ("published: ok", "ok"),
        ("published: true", "yes"),
        ("follows: 1 + 1", ""),
    ],
)
def test_what_was_published_keeps_its_digits(read_figure, figure, text):
    assert published_text(read_figure(f"name: a, {figure}")) == text


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        ("follows: 7.61 / 1.73", "7.61 / 1.73 = 4.399"),
        ("follows: rows * seq ** 2, unit: B", "4 · 8^2 = 256 B"),
        ("follows: 5", "5"),  # no arithmetic to follow
        ("follows: 'max(rows, 2) + 1'", "max(4, 2) + 1 = 5"),
        ("follows: 1 < 2", "yes"),
        ("follows: 274e9 / 153e-3 / 1e12, unit: T/s", "2.74e11 / 0.153 / 1e12 = 1.791 T/s"),
        ("follows: 64Ki / 2Ki, unit: ×", "65536 / 2048 = 32×"),
        ("published: 5", ""),
    ],
)
def test_what_follows_shows_its_arithmetic(read_figure, figure, text):
    assert follows_text(read_figure(f"name: a, {figure}")) == text


def test_arithmetic_too_long_for_a_cell_is_left_out(read_figure):
    assert follows_text(read_figure(f"name: a, follows: {' + '.join(['100'] * 20)}")) == f"2{NARROW}000"


def test_what_was_found_shows_its_arithmetic_and_where_it_is_from(read_figure):
    target = """temp_bytes("mask/a", "tpu:v5p")"""
    read = read_figure(f"name: a, unit: ×, published: 3, found: '{target} / 2'", temp=6)
    assert (found_text(read), method_text(read)) == ("6 / 2 = 3×", "compiled for tpu:v5p")
    read = read_figure(f"name: a, published: 6, found: '{target}'", temp=6)
    assert found_text(read) == "6"
    assert method_text(read_figure("name: a, published: 1, follows: 1")) == "arithmetic"


HOST = ["""temp_bytes("mask/a", "host") * 2""", """trace_bytes("mask/t") * 2"""]


@pytest.mark.parametrize("text", HOST)
def test_what_the_hosts_compiler_decided_is_marked(read_figure, text):
    read = read_figure(f"name: a, unit: B, published: 2, found: '{text}'")
    assert found_text(read) == f"≈{NARROW}1 · 2 = ≈{NARROW}2 B"
    assert published_text(read) == "2 B"
    read = read_figure(f"name: a, published: 2, at_most: '{text} + 1'")
    assert bound_text(read) == f"≤ ≈{NARROW}3"
    assert found_text(read_figure(f"name: a, published: true, found: '{text} < 9'")) == "yes"


def test_what_was_compiled_for_a_device_is_not_marked(read_figure):
    assert (
        found_text(read_figure("""name: a, published: 1, found: 'temp_bytes("mask/a", "tpu:v5p")'""")) == "1"
    )


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        ("published: 3, at_least: 2, at_most: 4, unit: ms", "≥ 2 ms and ≤ 4 ms"),
        ("published: 8.24, at_most: 56.87", "≤ 56.87"),
        ("published: 3, follows: 3", ""),
    ],
)
def test_bounds_as_text(read_figure, figure, text):
    assert bound_text(read_figure(f"name: a, {figure}")) == text


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        ("published: 3, follows: 3", "exact"),
        ("published: 3, follows: 3, within: 5%, why: printed as ~3", "5 % (printed as ~3)"),
        ("published: 3, follows: 3, within: 0.5%, why: x", "0.5 % (x)"),
        ("published: 3", ""),
        ("published: 3, at_most: 4", ""),
    ],
)
def test_a_tolerance_stands_with_its_reason(read_figure, figure, text):
    assert tolerance_text(read_figure(f"name: a, {figure}")) == text


# sentences

OWN = "follows from its own numbers (Paper #1)"
PREMISE = "It shows something only where this holds."
RATE = f"4990 / 2 = 2{NARROW}495 TFLOP/s"
BEYOND = f"which cannot be, for it has to be ≤ 2{NARROW}250 TFLOP/s"
SPEEDUP = f"Printed speedup at 1Ki: 2× is published, 8 / 4 = 2× {OWN}; the 2 rows"

ROWS = "t: {source: paper, columns: [n, dense, nsa, printed], rows: [[1Ki, 8, 4, 2.0], [2Ki, 9, 3, 3.0]]}"
RATIO = "name: printed speedup, unit: ×, each: true, published: printed, follows: dense / nsa"
SHARE = ", within: 5%, why: rounded"
OF_ROWS = {"expect": Word.ADDS_UP, "tables": ROWS, "more": "table: t"}


@pytest.mark.parametrize(
    ("figures", "of", "said"),
    [
        (
            ["name: sum, unit: ms, published: 4, follows: 1 + 3"],
            {"expect": Word.ADDS_UP},
            "Sum: 4 ms is published, 1 + 3 = 4 ms follows from its own numbers (Paper #1).",
        ),
        (
            ["name: sum, published: 4, follows: 1 + 4"],
            {"expect": Word.INCONSISTENT, "more": "because: One is counted twice."},
            "Sum: 4 is published, 1 + 4 = 5 follows from its own numbers (Paper #1). One is counted twice.",
        ),
        (
            ["""name: temp, published: 7, found: 'temp_bytes("mask/a", "tpu:v5p")'"""],
            {"expect": Word.CONTRADICTED, "temp": 8, "more": "because: it is more"},
            "Temp: 7 is published, 8 is found here (compiled for tpu:v5p; Paper #1). it is more.",
        ),
        (
            ["""name: work, follows: 9, found: 'temp_bytes("mask/a", "tpu:v5p")'"""],
            {"temp": 9},
            "Work: 9 follows from what is published, 9 is found here (compiled for tpu:v5p; Paper #1).",
        ),
        (
            ["""name: rate, unit: TFLOP/s, follows: 4990 / 2, at_most: 'peak("cuda:b200") / 1e12'"""],
            {"expect": Word.IMPLAUSIBLE},
            f"Rate: {RATE} follows from what is published, {BEYOND} (Paper #1).",
        ),
        (
            [
                "name: recall, published: 1, follows: 1",
                "name: candidates, published: 9, follows: 3, premise: true",
            ],
            {"expect": Word.VACUOUS, "more": "because: Nothing is approximated."},
            f"{PREMISE} Candidates: 9 is published, 3 {OWN}. Nothing is approximated.",
        ),
        (
            ["""name: it is dense, published: true, found: 'ops("mask/a", "tpu:v5p", "dot") > 0'"""],
            {"expect": Word.CONTRADICTED},
            "It is dense: so by what is published, not so here (compiled for tpu:v5p; Paper #1).",
        ),
        (
            ["name: it is less, published: true, follows: 3 < 2"],
            {"expect": Word.INCONSISTENT},
            "It is less: so by what is published, not so by its own numbers (Paper #1).",
        ),
        ([RATIO], OF_ROWS, f"{SPEEDUP} agree."),
        ([RATIO + SHARE], OF_ROWS, f"{SPEEDUP} agree within 5 %."),
        ([RATIO, "name: sum, published: 4, follows: 1 + 3"], OF_ROWS, f"{SPEEDUP} and 1 more figure agree."),
        (
            ["name: a, published: 4, follows: 4", "name: b, published: 5, follows: 5"],
            {"expect": Word.ADDS_UP},
            "A: 4 is published, 4 follows from its own numbers (Paper #1); 1 more figure agrees.",
        ),
        (
            ["name: time, unit: ms, published: 153"],
            {"expect": Word.NOT_CHECKABLE, "more": "not_checkable: it takes a TPU"},
            "Time: 153 ms is published (Paper #1). it takes a TPU.",
        ),
    ],
)
def test_a_verdicts_sentence_stands_alone(verdict, figures, of, said):
    told = verdict(*figures, **of)
    assert told.sentence == said


def test_what_disagrees_has_both_numbers_and_no_source(verdict):
    figures = "name: a, published: 1, follows: 1", "name: b, published: 4, follows: 1 + 4"
    told = verdict(*figures, expect=Word.INCONSISTENT, more="because: One is counted twice.")
    assert disagreement(told) == "B: 4 is published, 1 + 4 = 5 follows from its own numbers"


def test_every_source_is_named_once(verdict):
    source = "['paper:3', 'paper:5', letter]"
    told = verdict("name: a, published: 4, follows: 4", source=source, expect=Word.ADDS_UP)
    assert told.sentence.endswith("(Paper #1; Paper #1, a letter).")


def test_the_authors_reasoning_stands_only_for_the_verdict_that_it_explains(verdict):
    more = "because: the two are one"
    told = verdict("name: a, published: 1, follows: 2", more=more, expect=Word.INCONSISTENT)
    assert told.sentence.endswith("the two are one.")
    told = verdict("name: a, published: 1, follows: 1", more=more, expect=Word.INCONSISTENT)
    assert (told.judged, told.unexpected) == (Word.ADDS_UP, True)
    assert "the two are one" not in told.sentence


def test_a_figure_that_only_decides_for_another_device_is_told_with_both_numbers(verdict):
    figure = """name: temp, published: 7, found: 'temp_bytes("mask/a", "tpu:v5p")'"""
    told = verdict(figure, temp=8, hardware="a TPU", expect=Word.NOT_CHECKABLE, more="because: whose?")
    assert told.sentence == "Temp: 7 is published, 8 is found here (compiled for tpu:v5p; Paper #1). whose?."


def test_what_is_missing_is_said_after_what_was_published(verdict):
    figure = """name: peak, published: 7, found: 'peak_bytes("mask/a", "host")'"""
    told = verdict(figure)
    assert told.sentence.startswith("Peak: 7 is published (Paper #1). peak_bytes of mask/a@")
    assert told.sentence.endswith(": not counted.")
