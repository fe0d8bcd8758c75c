"""Verdicts with known answers: claims written as YAML, evidence made by hand."""

from pathlib import Path

import pytest

from harness.analysis.claim_words import ours, shown, theirs
from harness.analysis.claims import judge
from harness.analysis.expression import Compiled, Evidence
from harness.catalog.catalog import Catalog, FamilyInfo, ImplementationInfo
from harness.spec.claim import (
    CONTRADICTED,
    ELSEWHERE,
    IMPLAUSIBLE,
    NOT_CHECKABLE,
    REPRODUCED,
    Verdict,
)
from harness.spec.errors import UsageError
from harness.spec.record import Static
from harness.spec.workload import Field
from harness.sweep.claims import load
from harness.sweep.needs import needs

FAMILY = FamilyInfo(
    "mask", "?", (Field("seq", "int", required=False, default=8),), ("exact",), ("fwd",), "family.py"
)
IMPLEMENTATION = ImplementationInfo("mask/a", "jax", "exact", (), "", None, "m", "a.py", 1, "sha256:0")
CATALOG = Catalog({"mask": FAMILY}, {"mask/a": IMPLEMENTATION})
CLAIM = """\
claims:
  - id: one
    says: It is so
    source: somewhere
    version: not stated
    hardware: {hardware}
    expect: {expect}
    {more}
    figures:
"""


@pytest.fixture
def verdict(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def of(*figures, hardware="any", expect=REPRODUCED, more="", temp=1, absent="", lost=()):
        text = CLAIM.format(hardware=hardware, expect=expect, more=more)
        Path("claims.yaml").write_text(text + "".join(f"      - {{{one}}}\n" for one in figures))
        (claim,) = load(Path("claims.yaml"), FAMILY, CATALOG)
        none = dict.fromkeys(("argument_bytes", "output_bytes", "alias_bytes", "peak_bytes"), "not counted")
        static = (
            Static.none(absent)
            if absent
            else Static(temp_bytes=temp, flops=1.0, bytes_accessed=1.0, unavailable=none)
        )
        known = {one: Compiled(static, reason=absent, absent=bool(absent)) for one in needs(claim, CATALOG)}
        slow = Compiled(Static.none("60 s"), "timeout", "60 s")
        known |= {one: slow for one in known if one.case.seq in lost}
        return judge(claim, CATALOG, Evidence(compiled=known))

    return of


TEMP = """ours: 'temp_bytes("mask/a", "tpu:v5p")'"""


@pytest.mark.parametrize(
    ("figure", "word"),
    [
        ("name: a, theirs: 100, ours: 100", REPRODUCED),
        ("name: a, theirs: 100, ours: 100.0001", CONTRADICTED),
        ("name: a, theirs: 100, ours: 105, within: 5%", REPRODUCED),
        ("name: a, theirs: 100, ours: 95, within: 5%", REPRODUCED),
        ("name: a, theirs: 100, ours: 94.9, within: 5%", CONTRADICTED),
        ("name: a, theirs: -100, ours: -105, within: 5%", REPRODUCED),
        ("name: a, theirs: 0, ours: 1, within: 5%", CONTRADICTED),
        ("name: a, theirs: 0.3, ours: 0.1 + 0.2", REPRODUCED),
        ("name: a, theirs: [50, 800], ours: 50", REPRODUCED),
        ("name: a, theirs: [50, 800], ours: 816, within: 2%", REPRODUCED),
        ("name: a, theirs: [50, 800], ours: 817, within: 2%", CONTRADICTED),
        ("name: a, theirs: true, ours: 1 < 2", REPRODUCED),
        ("name: a, theirs: true, ours: 2 < 1", CONTRADICTED),
        ("name: a, theirs: ok, ours: ok", REPRODUCED),
        ("name: a, theirs: ok, ours: incorrect", CONTRADICTED),
        ("name: a, theirs: 32, ours: 16, wrong: true", IMPLAUSIBLE),
        ("name: a, theirs: 16, ours: 16, wrong: true", REPRODUCED),
        ("name: a, implied: 4900, at_most: 2250", IMPLAUSIBLE),
        ("name: a, implied: 2250, at_most: 2250", REPRODUCED),
        ("name: a, implied: 1, at_least: 2", IMPLAUSIBLE),
        ("name: a, implied: 3, at_least: 2, at_most: 4", REPRODUCED),
        ("name: a, implied: 5, at_least: 2, at_most: 4", IMPLAUSIBLE),
    ],
)
def test_the_verdict_on_a_figure(verdict, figure, word):
    assert verdict(figure).word == word


def test_a_bound_is_graver_than_a_difference(verdict):
    assert verdict("name: a, theirs: 1, ours: 2", "name: b, implied: 3, at_most: 1").word == IMPLAUSIBLE


def test_figures_for_another_target_than_what_was_published_for(verdict):
    figure = f"name: a, theirs: 7, {TEMP}"
    assert verdict(figure, temp=7).word == REPRODUCED  # any hardware
    told = verdict(figure, temp=7, hardware="A100")
    assert told.word == ELSEWHERE
    assert told.sentence == "Compiled for tpu:v5p, the figure agrees exactly."
    assert verdict(figure, temp=7, hardware="TPU v5p", more="target: tpu:v5p").word == REPRODUCED
    assert verdict(figure, temp=7, hardware="TPU v5e", more="target: tpu:v5e").word == ELSEWHERE
    assert (
        verdict("name: a, theirs: 7, ours: 7", hardware="A100").word == REPRODUCED
    )  # arithmetic has no target


def test_what_was_compiled_stands_beside_the_figure(verdict):
    (read,) = verdict(f"name: a, theirs: 7, {TEMP}", temp=8).figures
    assert (read.theirs, read.ours, read.agrees) == (7, 8, False)
    assert (read.by, read.targets) == (("compiled for tpu:v5p",), ("tpu:v5p",))


def test_without_a_compiler_nothing_is_decided_and_the_sentence_says_what_to_install(verdict):
    why = "libtpu is not installed; pip install 'seqsweep[tpu]'"
    told = verdict(f"name: a, theirs: 7, {TEMP}", "name: b, theirs: 1, ours: 1", absent=why)
    assert (told.word, told.sentence, told.incomplete) == (NOT_CHECKABLE, f"{why}.", why)
    assert not told.unexpected  # another verdict than expected, but something was left out
    assert told.figures[0].theirs == 7


def test_a_figure_that_is_not_given_is_no_ones_fault(verdict):
    told = verdict("""name: a, theirs: 7, ours: 'peak_bytes("mask/a", "host")'""", temp=1)
    assert told.word == NOT_CHECKABLE
    assert told.sentence == "peak_bytes of mask/a@seq=8:fwd:cpu for host: not counted."
    assert told.incomplete == ""
    assert told.unexpected


def test_what_cannot_be_checked_may_still_be_implausible(verdict):
    more = "not_checkable: needs a B200"
    figure = "name: rate, implied: {}, at_most: 2250"
    fine = verdict(figure.format(2000), more=more, expect=NOT_CHECKABLE)
    assert (fine.word, fine.sentence, fine.unexpected) == (NOT_CHECKABLE, "needs a B200.", False)
    assert verdict(figure.format(4900), more=more, expect=NOT_CHECKABLE).word == IMPLAUSIBLE


@pytest.mark.parametrize(("figure", "found"), [("theirs: 6.5", (6.5, None)), ("ours: 6.5", (None, 6.5))])
def test_one_side_alone_is_shown_and_decides_nothing(verdict, figure, found):
    told = verdict(f"name: a, {figure}, unit: ms", more="not_checkable: no", expect=NOT_CHECKABLE)
    assert (told.word, told.sentence) == (NOT_CHECKABLE, "no.")
    (read,) = told.figures
    assert ((read.theirs, read.ours), read.agrees, read.missing) == (found, None, "")
    assert verdict(f"name: a, {figure}", "name: b, theirs: 1, ours: 1").word == REPRODUCED
    assert verdict(f"name: a, {figure}", "name: b, theirs: 1, ours: 2").word == CONTRADICTED


def test_what_is_only_shown_has_no_target_and_no_say(verdict):
    seen = f"name: seen, {TEMP}"
    told = verdict(seen, "name: b, theirs: 1, ours: 1", hardware="A100")
    assert (told.word, told.sentence) == (REPRODUCED, "The figure agrees exactly.")
    told = verdict(seen, "name: b, theirs: 1, ours: 1", absent="libtpu is not installed")
    assert (told.word, told.incomplete) == (REPRODUCED, "libtpu is not installed")


def test_a_difference_outweighs_what_cannot_be_checked(verdict):
    more = "not_checkable: needs a B200"
    assert verdict("name: a, theirs: 1, ours: 2", more=more, expect=NOT_CHECKABLE).word == CONTRADICTED
    assert verdict("name: a, theirs: 1, ours: 1", more=more, expect=NOT_CHECKABLE).word == NOT_CHECKABLE


TABLE = (
    "table: {columns: [n, dense, nsa, said], rows: [[1Ki, 8, 4, 2.0], [4Ki, 9, 3, 2.5], [8Ki, OOM, 3, 9]]}"
)


def test_of_a_table_the_worst_row_decides_and_is_named(verdict):
    figure = "name: ratio, each: true, theirs: said, ours: dense / nsa, within: {}"
    told = verdict(figure.format("5%"), more=TABLE)
    (read,) = told.figures
    assert (told.word, read.row, read.theirs, read.ours) == (CONTRADICTED, "4Ki", 2.5, 3)
    assert told.sentence == "Ratio at 4Ki: 3 here, 2.5 published."
    assert verdict(figure.format("20%"), more=TABLE).word == REPRODUCED


def test_of_a_bounded_table_the_largest_excess_is_named(verdict):
    told = verdict("name: rate, unit: TFLOP/s, each: true, implied: n / nsa, at_most: 500", more=TABLE)
    assert told.figures[0].row == "8Ki"
    assert told.sentence == (
        "Rate at 8Ki: 2\u202f731 TFLOP/s by what was published, and it can only be ≤ 500 TFLOP/s."
    )


LENGTHS = "table: {columns: [n, said], rows: [[1Ki, 1], [2Ki, 1], [4Ki, 9], [8Ki, 1]]}"
PER_ROW = """name: temp, each: true, theirs: said, ours: 'temp_bytes("mask/a", "tpu:v5p", seq=n)'"""


@pytest.mark.parametrize("lost", [2048, 8192])
def test_a_row_that_disagrees_outweighs_one_that_is_not_to_be_had(verdict, lost):
    told = verdict(PER_ROW, more=LENGTHS, lost=[lost])
    (read,) = told.figures
    assert (told.word, read.row, read.theirs, read.ours, read.missing) == (CONTRADICTED, "4Ki", 9, 1, "")
    assert told.incomplete == f"mask/a@seq={lost}:fwd:cpu for tpu:v5p took too long here: 60 s"


def test_a_row_that_is_not_to_be_had_outweighs_those_that_agree(verdict):
    told = verdict(PER_ROW, more=LENGTHS, lost=[4096])
    (read,) = told.figures
    assert (told.word, read.row, read.theirs, read.ours) == (NOT_CHECKABLE, "4Ki", 9, None)
    assert read.missing == told.incomplete
    assert "took too long here: 60 s" in told.incomplete
    assert not told.unexpected


def test_what_was_published_is_known_where_its_bound_is_not(verdict):
    figure = """name: a, implied: 8, at_most: 'temp_bytes("mask/a", "tpu:v5p")'"""
    (read,) = verdict(figure, absent="libtpu is not installed").figures
    assert (theirs(read), ours(read), read.missing) == ("8", "—", "libtpu is not installed")


CROSSED = "table: {columns: [n, dense, nsa], rows: [[1Ki, 8, 9], [4Ki, 0, 3]]}"


def test_a_crossover_without_sense_names_its_figure(verdict):
    with pytest.raises(UsageError, match=r"claims.yaml:10: figure a: a crossover needs numbers above zero"):
        verdict("""name: a, theirs: 1, ours: 'crossover("dense", "nsa")'""", more=CROSSED)


def test_a_table_without_the_numbers_of_a_figure_decides_nothing(verdict):
    table = "table: {columns: [n, a], rows: [[1Ki, OOM]]}"
    told = verdict("name: x, each: true, theirs: a, ours: 1", more=table)
    assert (told.word, told.sentence) == (
        NOT_CHECKABLE,
        "no row of the table holds the numbers that it needs.",
    )


def test_the_authors_sentence_stands_for_the_verdict_that_the_author_found(verdict):
    more = "because: the dQ is counted twice"
    told = verdict("name: a, theirs: 1, ours: 2", more=more, expect=CONTRADICTED)
    assert (told.sentence, told.unexpected) == ("the dQ is counted twice.", False)
    told = verdict("name: a, theirs: 1, ours: 1", more=more, expect=CONTRADICTED)
    assert (told.word, told.sentence) == (REPRODUCED, "The figure agrees exactly.")
    assert told.unexpected


def test_the_tolerance_is_stated(verdict):
    told = verdict("name: a, theirs: 1, ours: 1", "name: b, theirs: 1, ours: 1.01, within: 5%")
    assert told.sentence == "Both figures agree within 5 % or exactly."


@pytest.mark.parametrize(
    ("figure", "why"),
    [
        ("name: a, theirs: 1, ours: 1 / 0", "claims.yaml:10: figure a: it divides by zero"),
        ("name: a, theirs: 1, ours: true", "a number is compared with a number"),
        ("name: a, theirs: ok, ours: 1", "a number is compared with a number"),
        ("name: a, theirs: [2, 1], ours: 1", "the range 2 to 1 is empty"),
        ("name: a, implied: true, at_most: 1", "bounds nothing"),
        ("name: a, theirs: 1, ours: 9**9**9", "too large"),
    ],
)
def test_a_figure_without_sense_is_an_error_with_its_place(verdict, figure, why):
    with pytest.raises(UsageError, match=why):
        verdict(figure)


def test_the_verdicts_are_a_closed_set(verdict):
    with pytest.raises(ValueError, match='"maybe" is no verdict'):
        Verdict(verdict("name: a, theirs: 1, ours: 1").claim, "maybe", "")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "", "—"),
        (True, "", "yes"),
        (283467841536, "B", "264.0 GiB"),
        (142606336, "bytes", "142\u202f606\u202f336 bytes"),
        (274877906944, "", "2.749e11"),
        (10142.6, "×", "10\u202f140×"),
        (6429.02, "×", "6\u202f429×"),
        (4.3333, "×", "4.333×"),
        (84, "%", "84 %"),
        (0.0002943, "s", "0.0002943 s"),
        ("sha256:0123456789abcdef", "", "sha256:01234567…"),
    ],
)
def test_figures_as_text(value, unit, text):
    assert shown(value, unit) == text


def test_ranges_and_bounds_as_text(verdict):
    read = verdict("name: a, unit: ×, theirs: [50, 800], ours: 60").figures[0]
    assert (theirs(read), ours(read)) == ("50 to 800×", "60×")
    read = verdict("name: a, unit: ms, implied: 3, at_least: 2, at_most: 4").figures[0]
    assert (theirs(read), ours(read)) == ("3 ms", "≥ 2 ms and ≤ 4 ms")
    read = verdict("name: a, implied: 8.24, at_most: 56.87").figures[0]
    assert (theirs(read), ours(read)) == ("8.24", "≤ 56.87")


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        ("theirs: 26581.04, unit: ms", "26\u202f581.04 ms"),
        ("theirs: 3.70, unit: ×", "3.70×"),
        ("theirs: 6_900", "6\u202f900"),
        ("theirs: 26581.04 + 0", "26\u202f580"),  # worked out, not published
        ("theirs: 16Gi, unit: B", "16.00 GiB"),
        ("theirs: [0.50, 26581.04], unit: ms", "0.50 to 26\u202f581.04 ms"),
        ("theirs: ok", "ok"),
    ],
)
def test_what_was_published_keeps_its_digits(verdict, figure, text):
    (read, _) = verdict(f"name: a, {figure}", "name: b, theirs: 1, ours: 1").figures
    assert theirs(read) == text


def test_what_the_hosts_compiler_decided_is_marked(verdict):
    host = """'temp_bytes("mask/a", "host") * 2'"""
    read = verdict(f"name: a, unit: B, theirs: 2, ours: {host}").figures[0]
    assert (theirs(read), ours(read)) == ("2 B", "≈\u202f2 B")
    read = verdict(f"name: a, implied: {host}, at_most: 3").figures[0]
    assert (theirs(read), ours(read)) == ("≈\u202f2", "≤ 3")
    assert ours(verdict(f"name: a, theirs: 1, {TEMP}").figures[0]) == "1"
    assert ours(verdict(f"name: a, theirs: true, ours: {host[:-1]} < 9'").figures[0]) == "yes"
