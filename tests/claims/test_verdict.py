"""Each word of a verdict: planted documents that get it, and near ones that must not."""

import pytest

from harness.claims.model import VERDICTS, Word
from harness.core.errors import UsageError
from harness.core.record import Cost

V5P, V6E, HOST = "tpu:v5p", "tpu:v6e", "host"
UNSTATED = "TPU, not stated which"
ROWS = (
    "t: {source: 'paper:3', columns: [n, dense, nsa, printed], "
    "rows: [[1Ki, 8, 4, 2.0], [2Ki, 18, 6, 3.0], [4Ki, OOM, 3, 9]]}"
)
LENGTHS = "t: {source: 'paper:3', columns: [n, printed], rows: [[1Ki, 1], [2Ki, 1], [4Ki, 9], [8Ki, 1]]}"


def temp(target=HOST, implementation="mask/a", **more):
    fields = "".join(f", {name}={value}" for name, value in more.items())
    return f"""'temp_bytes("{implementation}", "{target}"{fields})'"""


def compiled(published=7, target=HOST, name="temp", more=""):
    return f"name: {name}, published: {published}, found: {temp(target)}{more}"


def arithmetic(published, follows, name="sum", more=""):
    return f"name: {name}, published: {published}, follows: '{follows}'{more}"


SHARE = ", within: {}, why: printed with two digits"


# adds up


@pytest.mark.parametrize(
    "figures",
    [
        [arithmetic(4, "2 + 2")],
        [arithmetic(4, "8 / 2"), arithmetic(30, "5 * 6", "product")],
        [arithmetic(0.3, "0.1 + 0.2")],
        [arithmetic(-100, "-105", more=SHARE.format("5%"))],
        [arithmetic("[50, 800]", "50")],
        [arithmetic("[50, 800]", "816", more=SHARE.format("2%"))],
        [arithmetic(4, "2 + 2"), """name: rate, follows: 2250, at_most: 'peak("cuda:b200") / 1e12'"""],
        ["name: width, published: 4, found: rows"],  # of a configuration, or a device's file
        ["""name: dense bf16 of a B200, published: 2250, found: 'peak("cuda:b200") / 1e12'"""],
        ["""name: work, published: 10, found: 'cost_flops("mask/a")'"""],
        ["""name: exponent, published: 0, found: 'exponent("cost_flops", "mask/a", 1Ki, 2Ki)'"""],
    ],
)
def test_what_agrees_by_arithmetic_adds_up(verdict, figures):
    assert verdict(*figures, answers={"cost": Cost(flops=10.0)}).word == Word.ADDS_UP


def test_what_compiled_but_leaves_the_time_open_is_capped_at_adds_up(verdict):
    more = "needs: 'the time, on a TPU'"
    assert verdict(compiled(7), temp=7, more=more).word == Word.ADDS_UP
    assert verdict(compiled(8), temp=7, more=more).word == Word.CONTRADICTED


@pytest.mark.parametrize(
    "figure",
    [
        "name: rate, follows: 10 / 2, at_most: 6",
        "name: rate, published: 5, at_least: 4, at_most: 6",
        """name: rate, published: 5, at_most: 'peak("cuda:b200")'""",
        f"name: memory, published: 5, at_least: {temp()}",
    ],
)
def test_bounds_that_keep_with_nothing_compared_do_not_add_up(verdict, figure):
    told = verdict(figure, expect=Word.NOT_CHECKABLE)
    assert (told.word, told.readings[0].agrees) == (Word.NOT_CHECKABLE, True)


@pytest.mark.parametrize(
    "figure", ["name: time, published: 6.5", "name: time, follows: 6 + 0.5", "name: t, found: 6"]
)
def test_a_single_number_adds_nothing_up(verdict, figure):
    with pytest.raises(UsageError, match="one has no figure that decides"):
        verdict(figure, expect=Word.ADDS_UP)
    with pytest.raises(UsageError, match="without a figure that decides the verdict is not checkable here"):
        verdict(figure, expect=Word.ADDS_UP, more="not_checkable: it takes a GPU")
    told = verdict(figure, expect=Word.NOT_CHECKABLE, more="not_checkable: it takes a GPU")
    assert (told.word, told.readings[0].agrees) == (Word.NOT_CHECKABLE, None)


def test_a_number_beside_one_that_decides_has_no_say(verdict):
    assert verdict("name: time, published: 6.5", arithmetic(1, "1")).word == Word.ADDS_UP
    assert verdict("name: time, published: 6.5", arithmetic(1, "2")).word == Word.INCONSISTENT


# inconsistent


@pytest.mark.parametrize("hardware", ["any", "B200"])
@pytest.mark.parametrize(
    "figure",
    [
        arithmetic(100, "100.0001"),
        arithmetic(100, "94.9", more=SHARE.format("5%")),
        arithmetic(0, "1", more=SHARE.format("5%")),
        arithmetic("[50, 800]", "817", more=SHARE.format("2%")),
        arithmetic("[50, 800]", "48", more=SHARE.format("2%")),
        "name: parts, follows: 60 + 50, at_most: 100",
        "name: parts, published: 1, at_least: 2",
        "name: parts, published: 5, at_least: 2, at_most: 4",
    ],
)
def test_a_document_against_itself_is_inconsistent(verdict, figure, hardware):
    assert verdict(figure, hardware=hardware).word == Word.INCONSISTENT


def test_two_sources_of_one_document_may_disagree_with_each_other(verdict):
    assert verdict(arithmetic(4, "5"), source="['paper:3', letter]").word == Word.INCONSISTENT


@pytest.mark.parametrize(
    "figure",
    [
        arithmetic(4, "5"),
        arithmetic(4, "4"),
        "name: a, follows: 5, at_most: 4",
        "name: a, published: 5, at_least: 4",
    ],
)
def test_two_documents_cannot_be_inconsistent(verdict, figure):
    with pytest.raises(
        UsageError, match=r"claims.yaml:\d+: .* of one document, not of Paper #1 and Paper #2"
    ):
        verdict(figure, source="[paper, other]")
    rows = ROWS.replace("'paper:3'", "other")
    with pytest.raises(UsageError, match="of one document, not of Paper #1 and Paper #2"):
        verdict(figure, tables=rows, more="table: t")


@pytest.mark.parametrize(
    ("columns", "word"),
    [
        ("published: 100, follows: 105" + SHARE.format("5%"), Word.ADDS_UP),
        ("published: 7, follows: 3 + 4, found: 8", Word.CONTRADICTED),  # ours is no part of the document
        ("found: 5, at_most: 4", Word.CONTRADICTED),
        ("published: 7, follows: 8, found: 7", Word.INCONSISTENT),  # its own disagreement comes first
        ("published: 7, follows: 8, found: 9", Word.INCONSISTENT),
    ],
)
def test_only_what_a_document_says_itself_makes_it_inconsistent(verdict, columns, word):
    assert verdict(f"name: a, {columns}").word == word


def test_what_was_compiled_beside_it_takes_nothing_from_a_documents_own_disagreement(verdict):
    figure = f"name: a, published: 7, follows: 8, found: {temp(V5P)}"
    assert verdict(figure, temp=7, hardware="TPU v6e", more=f"target: {V6E}").word == Word.INCONSISTENT


# vacuous

PREMISE = ", premise: true"


def test_what_holds_and_shows_nothing_is_vacuous(verdict):
    figures = (compiled(7), arithmetic(2048, "1024", "it approximates", PREMISE))
    told = verdict(*figures, temp=7, expect=Word.VACUOUS)
    assert told.word == Word.VACUOUS
    assert "It approximates: 2\u202f048 is published" in told.sentence
    assert verdict(compiled(7), arithmetic(1, "1", "premise", PREMISE), temp=7).word == Word.REPRODUCED


@pytest.mark.parametrize(
    ("other", "word"),
    [
        (compiled(8), Word.CONTRADICTED),
        (arithmetic(1, "2"), Word.INCONSISTENT),
        ("""name: rate, follows: 9e15, at_most: 'peak("cuda:b200")'""", Word.IMPLAUSIBLE),
    ],
)
def test_a_premise_that_fails_beside_another_disagreement_is_not_the_verdict(verdict, other, word):
    assert verdict(arithmetic(1, "2", "premise", PREMISE), other, temp=7).word == word


def test_a_premise_that_fails_on_another_target_decides_nothing(verdict):
    v6e = {"temp": 7, "hardware": "TPU v6e", "more": f"target: {V6E}"}
    figures = (arithmetic(1, "1"), compiled(8, V5P, "premise", PREMISE))
    assert verdict(*figures, temp=7, hardware="TPU v5p", more=f"target: {V5P}").word == Word.VACUOUS
    assert verdict(*figures, **v6e).word == Word.NOT_CHECKABLE
    # nor does one that fails beside a disagreement that does not count
    assert verdict(compiled(8, V5P), arithmetic(1, "2", "premise", PREMISE), **v6e).word == Word.NOT_CHECKABLE


def test_what_is_not_known_to_hold_is_not_vacuous(verdict):
    premise = arithmetic(1, "2", "premise", PREMISE)
    assert verdict(compiled(7, V5P), premise, temp=7).word == Word.VACUOUS
    told = verdict(compiled(7, V5P), premise, temp=7, absent="libtpu is not installed")
    assert (told.word, told.incomplete) == (Word.NOT_CHECKABLE, "libtpu is not installed")
    more = "not_checkable: it takes a TPU"
    assert (
        verdict(compiled(7), premise, temp=7, more=more, expect=Word.NOT_CHECKABLE).word == Word.NOT_CHECKABLE
    )


def test_a_premise_stands_beside_what_it_is_of(verdict):
    for published in (1, 2):
        with pytest.raises(UsageError, match=r"claims.yaml:\d+: a premise stands beside what it is"):
            verdict(arithmetic(published, "1", "premise", PREMISE), "name: seen, published: 3")


@pytest.mark.parametrize("figure", ["published: 1", "published: 1, at_most: 2", "found: 1"])
def test_a_premise_is_compared(verdict, figure):
    with pytest.raises(UsageError, match=r"figure a: a premise is compared"):
        verdict(f"name: a, {figure}, premise: true")


# context


WORDS = {
    arithmetic(1, "1"): Word.ADDS_UP,
    arithmetic(1, "2"): Word.INCONSISTENT,
    compiled(8): Word.CONTRADICTED,
}


@pytest.mark.parametrize(("figure", "judged"), WORDS.items())
def test_what_is_of_no_pull_request_is_context_whatever_its_figures_give(verdict, figure, judged):
    told = verdict(figure, temp=7, source="blog", section="context", expect=judged)
    assert (told.word, told.judged, told.unexpected) == (Word.CONTEXT, judged, False)
    assert verdict(figure, temp=7, source="blog", section="context", expect=Word.VACUOUS).unexpected


def test_a_claim_of_a_pull_request_is_no_context(verdict):
    assert verdict(arithmetic(1, "1")).word == Word.ADDS_UP
    for source in ("paper", "[blog, paper]"):
        with pytest.raises(UsageError, match="one is of Paper #1, so it stands under claims"):
            verdict(arithmetic(1, "1"), source=source, section="context")


def test_what_is_of_no_pull_request_is_no_claim(verdict):
    for source in ("blog", "[paper, blog]"):
        with pytest.raises(UsageError, match=r"one has a source that is of no pull request .* under context"):
            verdict(arithmetic(1, "1"), source=source)


def test_no_file_expects_context(verdict):
    with pytest.raises(UsageError, match='unknown verdict "context"'):
        verdict(arithmetic(1, "1"), source="blog", section="context", expect=Word.CONTEXT)


# contradicted


@pytest.mark.parametrize(
    ("hardware", "more"), [("any", ""), ("any", f"target: {V6E}"), ("TPU v5p", f"target: {V5P}")]
)
def test_what_is_found_and_differs_is_contradicted(verdict, hardware, more):
    assert verdict(compiled(8, V5P), temp=7, hardware=hardware, more=more).word == Word.CONTRADICTED
    assert verdict(compiled(7, V5P), temp=7, hardware=hardware, more=more).word != Word.CONTRADICTED


@pytest.mark.parametrize(
    ("hardware", "more"),
    [("TPU v6e", f"target: {V6E}"), (UNSTATED, ""), (UNSTATED, f"target: [{V5P}, {V6E}]")],
)
def test_a_disagreement_for_another_target_than_was_published_for_is_no_contradiction(
    verdict, hardware, more
):
    told = verdict(compiled(8, V5P), temp=7, hardware=hardware, more=more)
    (read,) = told.readings
    assert (told.word, read.agrees, read.against) == (Word.NOT_CHECKABLE, False, Word.CONTRADICTED)


BOTH = f"target: [{V5P}, {V6E}]"


def test_only_a_disagreement_on_every_listed_target_is_a_contradiction(verdict):
    figures = (compiled(8, V5P, "on v5p"), compiled(8, V6E, "on v6e"))
    of = {"hardware": "TPU, not stated which", "more": BOTH}
    assert verdict(*figures, temp={V5P: 7, V6E: 7}, **of).word == Word.CONTRADICTED
    assert verdict(*figures, temp={V5P: 7, V6E: 8}, **of).word == Word.NOT_CHECKABLE
    assert verdict(*figures, temp={V5P: 8, V6E: 7}, **of).word == Word.NOT_CHECKABLE
    assert verdict(compiled(8, V5P), compiled(8, HOST, "here"), temp=7, **of).word == Word.NOT_CHECKABLE


def test_a_further_disagreement_elsewhere_takes_nothing_back(verdict):
    mine, foreign = "name: a, published: 61, found: 'min(rows, 60)'", compiled(8, V5P)
    assert verdict(mine, hardware="TPU v6e", more=f"target: {V6E}").word == Word.CONTRADICTED
    assert verdict(mine, foreign, temp=7, hardware="TPU v6e", more=f"target: {V6E}").word == Word.CONTRADICTED


@pytest.mark.parametrize("within", ["5%", "0.05"])
def test_what_differs_within_its_tolerance_is_no_contradiction(verdict, within):
    assert verdict(compiled(100, more=SHARE.format(within)), temp=105).word == Word.REPRODUCED
    assert verdict(compiled(100, more=SHARE.format(within)), temp=106).word == Word.CONTRADICTED


@pytest.mark.parametrize("figure", ["optimal_s", "cycles"])
def test_nobody_asks_for_a_compilers_guess_at_time(verdict, figure):
    with pytest.raises(UsageError, match=f'unknown function "{figure}"'):
        verdict(f"""name: a, found: '{figure}("mask/a", "host")'""", arithmetic(1, "1"))


# implausible


@pytest.mark.parametrize(
    "figure",
    [
        """name: rate, follows: 4900, at_most: 'peak("cuda:b200") / 1e12'""",
        """name: rate, published: 1e13, at_most: 'bandwidth("cuda:b200")'""",
        """name: memory, published: 200e9, at_most: 'memory("cuda:b200")'""",
        """name: speedup, published: 12, at_most: 'cost_flops("mask/a")'""",
        """name: rate, found: 'cost_flops("mask/a") * 1e15', at_most: 'peak("cuda:b200")'""",
        f"name: memory, published: 6, at_least: {temp()}",
    ],
)
def test_a_broken_bound_of_hardware_or_of_work_is_implausible(verdict, figure):
    assert verdict(figure, temp=7, answers={"cost": Cost(flops=10.0)}).word == Word.IMPLAUSIBLE


def test_a_bound_compiled_for_another_target_makes_nothing_implausible(verdict):
    figure = f"name: memory, published: 6, at_least: {temp(V5P)}"
    assert verdict(figure, temp=7, hardware="TPU v5p", more=f"target: {V5P}").word == Word.IMPLAUSIBLE
    assert verdict(figure, temp=7, hardware="TPU v6e", more=f"target: {V6E}").word == Word.NOT_CHECKABLE
    broken = """name: rate, follows: 4900, at_most: 'peak("cuda:b200") / 1e12'"""
    assert verdict(figure, broken, temp=7, hardware="B200", more="target: cuda:b200").word == Word.IMPLAUSIBLE


@pytest.mark.parametrize(
    ("bound", "rows"),
    [
        ("at_most: 0", [-1, 5, 0]),
        ("at_most: 0", [0, 5]),
        ("at_most: -10", [-20, -5, -10]),
        ("at_least: 0", [0, -5, 3]),
        ("at_least: -1", [-1, -5]),
    ],
)
def test_the_row_that_breaks_a_bound_is_found_whatever_the_signs(verdict, bound, rows):
    listed = ", ".join(f"[{place}Ki, {value}]" for place, value in enumerate(rows, 1))
    table = f"t: {{source: paper, columns: [n, a], rows: [{listed}]}}"
    told = verdict(f"name: x, each: true, published: a, {bound}", tables=table, more="table: t")
    assert (told.word, told.readings[0].row) == (Word.INCONSISTENT, "2Ki")


# reproduced, and reproduced on another target

TESTED = [
    (compiled(7), {"temp": 7}),
    ("""name: a, published: true, found: 'calls("mask/a", "host", "TopK")'""", {}),
    ("""name: a, published: true, found: 'program("mask/a", "host") == program("mask/b", "host")'""", {}),
    (
        """name: a, published: 2, found: 'exponent("temp_bytes", "mask/a", "host", 4, 8)'""",
        {"temp": {4: 1, 8: 4}},
    ),
    ("""name: a, published: 7, found: 'trace_bytes("mask/t")'""", {"temp": 7}),
    ("""name: a, published: true, found: 'fact("mask/a", "path") == "fast"'""", {}),
    ("""name: a, published: ok, found: 'status("mask/a")'""", {}),
    ("""name: a, published: true, found: 'check("mask/order", "mask/a")'""", {}),
    (
        """name: a, published: 2, found: 'growth("temp_bytes(''mask/a'', ''host'', seq=n)", 2Ki)'""",
        {"temp": {1024: 2, 2048: 4, 4096: 9}},
    ),
]


@pytest.mark.parametrize(("figure", "known"), TESTED)
def test_what_was_compiled_or_run_and_agrees_is_reproduced(verdict, figure, known):
    given = {"tables": ROWS, "more": "table: t"} if "growth" in figure else {}
    assert verdict(figure, **known, **given).word == Word.REPRODUCED


@pytest.mark.parametrize(("figure", "known"), TESTED[:8])
def test_the_same_beside_other_hardware_is_reproduced_on_another_target(verdict, figure, known):
    assert verdict(figure, hardware="A100", expect=Word.ELSEWHERE, **known).word == Word.ELSEWHERE
    assert verdict(figure, hardware="this machine", more="target: host", **known).word == Word.REPRODUCED


def test_compiled_for_exactly_what_was_published_for(verdict):
    figure = compiled(7, V5P)
    assert verdict(figure, temp=7, hardware="TPU v5p", more=f"target: {V5P}").word == Word.REPRODUCED
    assert verdict(figure, temp=7, hardware="TPU v6e", more=f"target: {V6E}").word == Word.ELSEWHERE
    assert verdict(figure, temp=7, hardware="a TPU").word == Word.ELSEWHERE
    more = compiled(7, HOST, "here")
    assert verdict(figure, more, temp=7, hardware="TPU v5p", more=f"target: {V5P}").word == Word.ELSEWHERE


def test_compiled_for_one_of_several_devices_is_compiled_for_another(verdict):
    of = {"temp": 7, "hardware": "a TPU", "more": BOTH}
    assert verdict(compiled(7, V5P), **of).word == Word.ELSEWHERE
    assert verdict(compiled(7, V5P, "a"), compiled(7, V6E, "b"), **of).word == Word.REPRODUCED
    assert verdict(compiled(7, V6E, "a"), compiled(7, V5P, "b"), **of).word == Word.REPRODUCED


def test_what_is_only_shown_reproduces_nothing(verdict):
    seen = f"name: seen, found: {temp(V5P)}"
    assert verdict(seen, arithmetic(1, "1"), hardware="A100").word == Word.ADDS_UP


@pytest.mark.parametrize("figure", [compiled(8), arithmetic(1, "2"), "name: a, follows: 2, at_most: 1"])
def test_one_disagreement_outweighs_what_was_reproduced(verdict, figure):
    assert verdict(compiled(7, name="other"), figure, temp=7).word not in {Word.REPRODUCED, Word.ADDS_UP}


# not checkable here


def test_what_the_file_says_is_not_checkable_is_not(verdict):
    more = "not_checkable: it takes a B200"
    told = verdict(arithmetic(1, "1"), more=more, expect=Word.NOT_CHECKABLE)
    assert (told.word, told.unexpected) == (Word.NOT_CHECKABLE, False)
    assert told.sentence.endswith("it takes a B200.")


@pytest.mark.parametrize(
    ("figure", "word"),
    [
        (arithmetic(1, "2"), Word.INCONSISTENT),
        (compiled(8), Word.CONTRADICTED),
        ("""name: rate, follows: 4900, at_most: 'peak("cuda:b200") / 1e12'""", Word.IMPLAUSIBLE),
    ],
)
def test_a_disagreement_outweighs_what_cannot_be_checked(verdict, figure, word):
    more = "not_checkable: it takes a B200"
    assert verdict(figure, temp=7, more=more, expect=Word.NOT_CHECKABLE).word == word


def test_one_figure_that_is_missing_leaves_all_undecided(verdict):
    counted = """name: peak, published: 7, found: 'peak_bytes("mask/a", "host")'"""
    told = verdict(counted, compiled(7), temp=7)
    assert told.word == Word.NOT_CHECKABLE
    assert "peak_bytes of mask/a@" in told.sentence
    assert (told.incomplete, told.unexpected) == ("", True)  # it is no one's fault


def test_without_a_compiler_nothing_is_decided_and_the_sentence_says_what_to_install(verdict):
    why = "libtpu is not installed; pip install -e '.[tpu]'"
    told = verdict(compiled(7, V5P), arithmetic(1, "1"), absent=why)
    assert (told.word, told.incomplete) == (Word.NOT_CHECKABLE, why)
    assert told.sentence.endswith(f"{why}.")
    assert not told.unexpected  # another verdict than expected, but something was left out
    assert told.readings[0].published.value == 7


def test_what_is_only_shown_and_missing_leaves_the_document_incomplete_and_the_verdict(verdict):
    told = verdict(f"name: seen, found: {temp(V5P)}", arithmetic(1, "1"), absent="libtpu is not installed")
    assert (told.word, told.incomplete) == (Word.ADDS_UP, "libtpu is not installed")


def test_a_table_without_the_numbers_of_a_figure_decides_nothing(verdict):
    table = "t: {source: paper, columns: [n, a], rows: [[1Ki, OOM]]}"
    told = verdict("name: x, each: true, published: a, follows: 1", tables=table, more="table: t")
    assert told.word == Word.NOT_CHECKABLE
    assert "no row of the table holds the numbers that it needs." in told.sentence


# rows


def test_of_a_table_the_worst_row_decides_and_is_named(verdict):
    rows = ROWS.replace("3.0", "2.5")
    figure = "name: ratio, each: true, published: printed, follows: dense / nsa, within: {}, why: rounded"
    told = verdict(figure.format("5%"), tables=rows, more="table: t")
    (read,) = told.readings
    assert (told.word, read.row, read.rows) == (Word.INCONSISTENT, "2Ki", 2)
    assert (read.published.value, read.follows.value) == (2.5, 3)
    assert verdict(figure.format("20%"), tables=rows, more="table: t").word == Word.ADDS_UP


def test_of_a_bounded_table_the_largest_excess_is_named(verdict):
    told = verdict("name: rate, each: true, follows: n / nsa, at_most: 100", tables=ROWS, more="table: t")
    assert (told.word, told.readings[0].row, told.readings[0].rows) == (Word.INCONSISTENT, "4Ki", 3)


def test_growth_leaves_out_the_row_that_has_nothing_to_have_grown_from(verdict):
    figure = """name: growth, each: true, follows: 'growth("nsa", n)', at_most: 1.6"""
    told = verdict(figure, arithmetic(1, "1"), tables=ROWS, more="table: t")
    assert (told.word, told.readings[0].rows, told.readings[0].row) == (Word.ADDS_UP, 2, "2Ki")
    alone = """name: growth, published: 2, follows: 'growth("nsa", 1Ki)'"""
    assert verdict(alone, tables=ROWS, more="table: t").word == Word.NOT_CHECKABLE


PER_ROW = f"name: temp, each: true, published: printed, found: {temp(V5P, seq='n')}"


@pytest.mark.parametrize("lost", [2048, 8192])
def test_a_row_that_disagrees_outweighs_one_that_is_not_to_be_had(verdict, lost):
    told = verdict(PER_ROW, tables=LENGTHS, more="table: t", lost=[lost])
    (read,) = told.readings
    assert (told.word, read.row, read.missing) == (Word.CONTRADICTED, "4Ki", "")
    assert (read.published.value, read.found.value) == (9, 1)
    assert told.incomplete.endswith("for tpu:v5p took too long here: 60 s")


def test_a_row_that_is_not_to_be_had_outweighs_those_that_agree(verdict):
    told = verdict(PER_ROW, tables=LENGTHS, more="table: t", lost=[4096])
    (read,) = told.readings
    assert (told.word, read.row, read.published.value, read.found) == (Word.NOT_CHECKABLE, "4Ki", 9, None)
    assert read.missing == told.incomplete
    assert not told.unexpected


# figures


def test_what_was_found_stands_beside_the_figure(verdict):
    (read,) = verdict(compiled(7, V5P), temp=8).readings
    assert (read.published.value, read.found.value, read.agrees, read.tested) == (7, 8, False, True)
    assert (read.by, read.targets) == ((f"compiled for {V5P}",), (V5P,))
    (read,) = verdict(arithmetic(4, "8 / 2")).readings
    assert (read.follows.arithmetic, read.tested, read.targets) == ("8 / 2", False, ())


def test_truths_and_words_are_compared_as_they_are(verdict):
    assert verdict("name: a, published: true, found: 1 < 2").word == Word.ADDS_UP
    assert verdict("name: a, published: true, found: 2 < 1").word == Word.CONTRADICTED
    told = verdict("""name: a, published: ok, found: 'status("mask/a")'""", answers={"status": "incorrect"})
    assert told.word == Word.CONTRADICTED


@pytest.mark.parametrize("column", ["published", "follows"])
@pytest.mark.parametrize(
    "call",
    [
        """temp_bytes("mask/a", "host")""", """cost_flops("mask/a")""", """peak("cuda:b200")""",
        """status("mask/a")""", """check("mask/order", "mask/a")""", """fact("mask/a", "path")""",
        """1 + trace_bytes("mask/t")""", """exponent("cost_flops", "mask/a", 1Ki, 2Ki)""",
        """growth("temp_bytes(''mask/a'', ''host'', seq=n)", 2Ki)""",
    ],
)  # fmt: skip
def test_neither_what_was_published_nor_what_follows_is_found_here(verdict, column, call):
    other = "follows" if column == "published" else "published"
    with pytest.raises(UsageError, match=r"claims.yaml:\d+: figure a: \w+\(…\) is found here"):
        verdict(f"name: a, {other}: 1, {column}: '{call}'", tables=ROWS, more="table: t")


def test_a_verdict_that_nobody_expected_is_told(verdict):
    told = verdict(arithmetic(1, "2"), expect=Word.ADDS_UP)
    assert told.unexpected
    assert not verdict(arithmetic(1, "2"), expect=Word.INCONSISTENT).unexpected
    assert len(VERDICTS) == 8


@pytest.mark.parametrize(
    ("figure", "why"),
    [
        (arithmetic(1, "1 / 0"), r"claims.yaml:\d+: figure sum: it divides by zero"),
        (arithmetic(1, "true"), "a number is compared with a number"),
        (arithmetic("ok", "1"), "a number is compared with a number"),
        (arithmetic("[2, 1]", "1"), "the range 2 to 1 is empty"),
        ("name: a, published: true, at_most: 1", "bounds nothing"),
        (arithmetic(1, "9**9**9"), "too large"),
        (arithmetic(1, """crossover("n-1Ki", "dense")"""), r":\d+: figure sum: a crossover needs numbers"),
    ],
)
def test_a_figure_without_sense_is_an_error_with_its_place(verdict, figure, why):
    with pytest.raises(UsageError, match=why):
        verdict(figure, tables=ROWS, more="table: t")
