"""What functions in a claim's expressions answer; crossovers with known answers."""

import math
from dataclasses import replace

import pytest

from harness.analysis.expression import Compiled, Evidence, Judged, Missing, Reader, crossover, first_win
from harness.catalog.catalog import Catalog, FamilyInfo, ImplementationInfo
from harness.spec.case import Case
from harness.spec.claim import Claim, Need, Table
from harness.spec.expression import parse
from harness.spec.record import Cost, Static
from harness.spec.workload import Field

FIELDS = (Field("rows", "int", required=False, default=4), Field("seq", "int", required=True))
CATALOG = Catalog(
    {"mask": FamilyInfo("mask", "?", FIELDS, ("exact",), ("fwd", "bwd"), "impls/mask/family.py")},
    {
        "mask/scatter": ImplementationInfo(
            "mask/scatter", "jax", "exact", (), "One way.", None, "m", "f.py", 1, "sha256:0"
        )
    },
)
COLUMNS = ("n", "dense", "sparse")


def table(*rows):
    return Table(COLUMNS, rows, tuple(tuple(str(cell) for cell in row) for row in rows))


TABLE = table((1024, 1.0, 4.0), (4096, 4.0, 4.0), (16384, 16.0, "OOM"))
CLAIM = Claim(
    "mask", "one", "claims.yaml:2", "", "", "", "any", "reproduced", {"rows": 4, "seq": 8}, table=TABLE
)


def compiled(target="host", mode="fwd", rows=4, **figures):
    case = Case.of("mask/scatter", {}, {"rows": rows, "seq": 8}, mode)
    missing = {
        name: "not counted here"
        for name in ("argument_bytes", "output_bytes", "temp_bytes", "alias_bytes", "peak_bytes", "flops")
        if name not in figures
    }
    static = Static(**figures, bytes_accessed=1.0, unavailable=missing)
    return {Need(Need.COMPILE, case, target): Compiled(static)}


def value(text, claim=CLAIM, **evidence):
    reader = Reader(claim, CATALOG, Evidence(**evidence))
    return reader.value(parse(text), claim.names()), tuple(reader.by), tuple(reader.targets)


def test_a_figure_of_a_compiled_case():
    known = compiled("tpu:v5p", temp_bytes=10) | compiled("tpu:v5p", rows=2, temp_bytes=5)
    told = value(
        'temp_bytes("mask/scatter", "tpu:v5p") / temp_bytes("scatter", "tpu:v5p", rows=2)', compiled=known
    )
    assert told == (2.0, ("compiled for tpu:v5p",), ("tpu:v5p",))


def test_the_mode_is_a_keyword():
    known = compiled(mode="bwd", temp_bytes=7)
    assert value('temp_bytes("mask/scatter", "host", mode="bwd")', compiled=known)[0] == 7


def test_planned_bytes_are_arguments_outputs_and_temporaries_without_aliases():
    known = compiled(argument_bytes=1, output_bytes=2, temp_bytes=4, alias_bytes=1)
    assert value('planned_bytes("mask/scatter", "host")', compiled=known)[0] == 6


def test_programs_and_their_calls():
    known = compiled(program="sha256:a", custom_calls=("TopK",))
    known |= compiled("tpu:v5p", program="sha256:a")
    same = 'program("mask/scatter", "host") == program("mask/scatter", "tpu:v5p")'
    assert value(same, compiled=known)[0] is True
    assert value('calls("mask/scatter", "host", "TopK")', compiled=known)[0] is True
    assert value('calls("mask/scatter", "host", "PartialReduce")', compiled=known)[0] is False


@pytest.mark.parametrize(
    ("text", "known", "why"),
    [
        ('flops("mask/scatter", "host")', compiled(), "not counted here"),
        ('temp_bytes("mask/scatter", "host")', {}, "was not compiled"),
        ('program("mask/scatter", "host")', compiled(), "not given"),
        ('calls("mask/scatter", "host", "TopK")', compiled(), "not given"),
        ('flops("mask/scatter", "host")', compiled(flops=1.0, body_only=True), "a loop's body once"),
        ('memory("host")', {}, "host has no data file"),
    ],
)
def test_what_is_not_to_be_had_says_why(text, known, why):
    with pytest.raises(Missing, match=why) as missing:
        value(text, compiled=known)
    assert not missing.value.incomplete


def test_a_case_that_did_not_compile_says_why():
    (need,) = compiled()
    known = {need: Compiled(Static.none("no"), "unsupported", "f32 alone is supported")}
    with pytest.raises(Missing, match=r"mask/scatter@.*: f32 alone is supported") as missing:
        value('temp_bytes("mask/scatter", "host")', compiled=known)
    assert not missing.value.incomplete


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ("timeout", "took too long here: why"),
        ("crashed", "crashed here: why"),
        ("skipped", "was skipped here: why"),
        ("oom", "ran out of memory here: why"),
    ],
)
def test_what_this_machine_failed_at_is_told_apart(status, told):
    (need,) = compiled()
    known = {need: Compiled(Static.none("why"), status, "why")}
    with pytest.raises(Missing, match=rf"mask/scatter@.* for host {told}") as missing:
        value('program("mask/scatter", "host")', compiled=known)
    assert missing.value.incomplete
    (need,) = judged(None)
    with pytest.raises(Missing, match=rf"mask/scatter@.* {told}") as missing:
        value('status("mask/scatter")', judged={need: Judged(status, "why")})
    assert missing.value.incomplete


def test_a_compiler_that_is_not_installed_is_told_apart():
    (need,) = compiled("tpu:v5p")
    why = "libtpu is not installed; pip install 'seqsweep[tpu]'"
    with pytest.raises(Missing, match="pip install") as missing:
        value(
            'temp_bytes("mask/scatter", "tpu:v5p")',
            compiled={need: Compiled(Static.none(why), reason=why, absent=True)},
        )
    assert missing.value.incomplete


def test_analytic_costs_and_contracts():
    case = Case.of("mask/scatter", {}, {"rows": 4, "seq": 8})
    costs = {Need(Need.COST, case): Cost(flops=6.0, bytes=2.0)}
    assert value('cost_flops("mask/scatter") / cost_bytes("mask/scatter")', costs=costs)[0] == 3
    with pytest.raises(Missing, match="no formula of dense_flops"):
        value('cost_dense_flops("mask/scatter")', costs=costs)
    with pytest.raises(Missing, match="refused"):
        value('cost_flops("mask/scatter")', costs={Need(Need.COST, case): "refused"})

    assert value('status("mask/scatter") == incorrect', judged=judged("incorrect")) == (
        True,
        ("its contract, run here",),
        ("host",),
    )


def judged(status, reason=""):
    return {Need(Need.JUDGE, Case.of("mask/scatter", {}, {"rows": 4, "seq": 8})): Judged(status, reason)}


def test_a_contract_that_was_refused_is_no_answer_and_one_that_did_not_run_is_incomplete():
    with pytest.raises(Missing, match=r"mask/scatter@.* is unsupported: needs a GPU") as missing:
        value('status("mask/scatter") == ok', judged=judged("unsupported", "needs a GPU"))
    assert not missing.value.incomplete
    with pytest.raises(Missing, match="did not run") as missing:
        value('status("mask/scatter")', judged=judged(None, "its contract did not run"))
    assert missing.value.incomplete


def test_devices_are_data_files():
    assert value('memory("cuda:h200")')[0] > 140e9
    assert value('peak("cuda:b200")')[0] == 2250e12
    assert value('bandwidth("tpu:v5p") > 2e12')[0] is True


def test_columns_of_the_published_table():
    assert value('first_win("dense", "3")')[0] == 4096
    assert value('first_win("5", "sparse")')[0] == 1024  # the row without a number is left out
    with pytest.raises(Missing, match="neither passes"):
        value('crossover("dense", "sparse")')


def test_rows_that_begin_alike_are_refused_where_both_are_needed():
    twice = replace(CLAIM, table=table((1024, 1.0, 4.0), (4096, 4.0, 4.0), (4096, 2.0, "OOM")))
    with pytest.raises(ValueError, match="two rows of the table begin with 4096"):
        value('first_win("3", "dense")', twice)
    assert value('first_win("sparse + 1", "sparse")', twice)[0] == 1024  # one of them has no number there


def test_first_win_is_the_length_from_which_on_it_stays_below():
    assert first_win([(1, 2.0, 1.0), (2, 2.0, 3.0), (4, 2.0, 1.0), (8, 2.0, 1.0)]) == 4
    assert first_win([(1, 2.0, 1.0)]) == 1
    with pytest.raises(Missing, match="never stays below"):
        first_win([(1, 2.0, 1.0), (2, 2.0, 2.0)])


def test_a_crossover_lies_where_the_ratio_is_one_in_both_logarithms():
    # dense/sparse is 1/4 at 1Ki and 4 at 16Ki: in the middle of the logarithms, 4Ki
    assert crossover([(1024, 1.0, 4.0), (16384, 16.0, 4.0)]) == pytest.approx(4096)
    # the last of several counts: between 4 and 8 the ratio goes from 1/2 to 2
    rows = [(1, 1.0, 2.0), (2, 2.0, 1.0), (4, 1.0, 2.0), (8, 2.0, 1.0)]
    assert crossover(rows) == pytest.approx(math.sqrt(32))


@pytest.mark.parametrize("row", [(4, 0.0, 1.0), (4, 1.0, 0.0), (4, -1.0, 1.0), (0, 1.0, 1.0)])
def test_a_crossover_of_what_has_no_logarithm_is_refused(row):
    with pytest.raises(ValueError, match=f"a crossover needs numbers above zero; .* at {row[0]}$"):
        crossover([(1, 1.0, 2.0), row])
