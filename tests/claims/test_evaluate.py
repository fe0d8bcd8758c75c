"""What the functions of a claim's expressions answer, each from evidence made by hand."""

import math
from dataclasses import replace

import pytest

from harness.claims.evaluate import Evaluator, crossover, first_win, fit, growth
from harness.claims.expression import functions_in, parse
from harness.claims.model import Claim, ClaimEvidence, Judged, Missing, Need, Table
from harness.core.case import Case
from harness.core.record import Cost
from harness.core.static_figures import ALL_FIGURES, Static
from harness.run.compile.request import CompileResult
from tests.claims.planted import CATALOG, static

COLUMNS = ("n", "dense", "sparse")
SHAPE = {"rows": 4, "seq": 8, "topk": 2}
TPU = "tpu:v5p"
ON_TPU = (f"compiled for {TPU}",), (TPU,)


def table(*rows):
    return Table("t", (), COLUMNS, rows, tuple(tuple(str(cell) for cell in row) for row in rows))


TABLE = table((1024, 1.0, 4.0), (4096, 4.0, 4.0), (8192, 9.0, 2.0), (16384, 16.0, "OOM"))
CLAIM = Claim("mask", "one", "claims.yaml:2", "", (), "any", "reproduced", SHAPE, table=TABLE)


def case(implementation="mask/a", mode="fwd", options=(), **shape):
    return Case.of(implementation, dict(options), {**SHAPE, **shape}, mode)


def known(target="host", of=None, told=None, *, facts=None, **shape):
    need = Need(Need.COMPILE, of or case(**shape), target)
    return {need: CompileResult("ok", told or Static.none("not compiled"), facts=facts or {})}


def compiled(target="host", of=None, program=None, calls=(), **figures):
    return known(target, of, static(program, calls, **figures))


def value(text, claim=CLAIM, **evidence):
    evaluator = Evaluator(claim, CATALOG, ClaimEvidence(**evidence))
    found = evaluator.value(parse(text), claim.names())
    return found, tuple(evaluator.by), tuple(evaluator.targets)


def assert_missing(why, text, *claim, incomplete=None, **evidence):
    """There is no value, for this reason; `incomplete` where another machine might have one."""
    with pytest.raises(Missing, match=why) as missing:
        value(text, *claim, **evidence)
    assert incomplete in {None, missing.value.incomplete}


def rests_on(text, **evidence):
    evaluator = Evaluator(CLAIM, CATALOG, ClaimEvidence(**evidence))
    evaluator.value(parse(text), CLAIM.names())
    return evaluator.tested, evaluator.bounded_by_hardware


# compiled


def test_a_figure_of_a_compiled_case():
    both = compiled("tpu:v5p", temp_bytes=10) | compiled("tpu:v5p", case(rows=2), temp_bytes=5)
    text = 'temp_bytes("mask/a", "tpu:v5p") / temp_bytes("a", "tpu:v5p", rows=2)'
    assert value(text, compiled=both) == (2.0, ("compiled for tpu:v5p",), ("tpu:v5p",))


def test_the_mode_is_a_keyword_and_options_stand_in_brackets():
    backward = compiled(of=case(mode="bwd"), temp_bytes=7)
    assert value('temp_bytes("mask/a", "host", mode="bwd")', compiled=backward)[0] == 7
    chosen = case("mask/b", options={"keep": 1})
    assert value('temp_bytes("mask/b[keep=1]", "host")', compiled=compiled(of=chosen, temp_bytes=7))[0] == 7


@pytest.mark.parametrize("figure", [figure for figure in ALL_FIGURES if figure != "optimal_s"])
def test_every_figure_is_the_one_that_it_is_called(figure):
    assert value(f'{figure}("mask/a", "host")', compiled=compiled(**{figure: 11}))[0] == 11
    assert_missing(r"not counted|not given", f'{figure}("mask/a", "host")', compiled=compiled())


def test_planned_bytes_are_arguments_outputs_and_temporaries_without_aliases():
    figures = {"argument_bytes": 1, "output_bytes": 2, "temp_bytes": 4, "alias_bytes": 1}
    assert value('planned_bytes("mask/a", "host")', compiled=compiled(**figures))[0] == 6


def test_programs_and_their_calls():
    both = compiled(program="sha256:a", calls=("TopK",)) | compiled("tpu:v5p", program="sha256:a")
    same = 'program("mask/a", "host") == program("mask/a", "tpu:v5p")'
    by = ("compiled for host", "compiled for tpu:v5p")
    assert value(same, compiled=both) == (True, by, ("host", "tpu:v5p"))
    assert value('calls("mask/a", "host", "TopK")', compiled=both)[0] is True
    assert value('calls("mask/a", "host", "PartialReduce")', compiled=both)[0] is False


def test_operations_of_the_optimised_module_are_counted():
    own = known("tpu:v5p", told=replace(static("sha256:a"), opcodes={"convolution": 3, "sort": 1}))
    assert value('ops("mask/a", "tpu:v5p", "convolution")', compiled=own) == (3, *ON_TPU)
    assert value('ops("mask/a", "tpu:v5p", "dot")', compiled=own)[0] == 0
    for told in (static("sha256:a"), replace(static(), opcodes={"sort": 1})):  # none there is not none known
        with pytest.raises(Missing):
            value('ops("mask/a", "tpu:v5p", "dot")', compiled=known("tpu:v5p", told=told))


def test_an_exponent_is_the_growth_between_two_lengths():
    both = compiled(TPU, case(seq=1024), temp_bytes=3) | compiled(TPU, case(seq=4096), temp_bytes=48)
    text = 'exponent("temp_bytes", "mask/a", "tpu:v5p", 1Ki, 4Ki)'
    assert value(text, compiled=both) == (2, ("compiled for tpu:v5p",), ("tpu:v5p",))
    costs = {Need(Need.COST, case(seq=n)): Cost(flops=5.0 * n) for n in (1024, 2048)}
    of_a_formula = value('exponent("cost_flops", "mask/a", 1Ki, 2Ki)', costs=costs)
    assert of_a_formula == (pytest.approx(1), ("the family's cost formula",), ())
    nothing = compiled("host", case(seq=1024), temp_bytes=0) | compiled("host", case(seq=2048), temp_bytes=8)
    text = 'exponent("temp_bytes", "mask/a", "host", 1Ki, 2Ki)'
    assert_missing("temp_bytes of mask/a is 0 at 1024: it has no exponent", text, compiled=nothing)


def test_a_trace_counts_what_a_torch_implementation_holds_at_once():
    own = compiled(of=case("mask/t"), temp_bytes=96)
    assert value('trace_bytes("mask/t")', compiled=own) == (96, ("traced here over fake tensors",), ("host",))
    with pytest.raises(ValueError, match="mask/a is of jax, whose calls are not traced; ask"):
        value('trace_bytes("mask/a")', compiled=own)


def test_a_fact_is_what_the_case_says_of_itself():
    own = known(told=static(), facts={"path": "fast", "blocks": 16, "unset": None})
    by = ("a fact of the case, read here",)
    assert value('fact("mask/a", "path") == "fast"', compiled=own) == (True, by, ("host",))
    assert value('fact("mask/a", "blocks") / 4', compiled=own)[0] == 4
    for name in ("width", "unset"):
        assert_missing(f'no fact "{name}"; it has path, blocks', f'fact("mask/a", "{name}")', compiled=own)


@pytest.mark.parametrize(
    ("text", "own", "why"),
    [
        ('flops("mask/a", "host")', compiled(), "not counted"),
        ('program("mask/a", "host")', compiled(), "not given"),
        ('calls("mask/a", "host", "TopK")', compiled(), "not given"),
        ('flops("mask/a", "host")', known(told=static(flops=1.0, body_only=True)), "a loop's body once"),
        ('memory("host")', {}, "host has no data file"),
        ('vector_ops("host")', {}, "host has no data file"),
    ],
)
def test_what_is_not_to_be_had_says_why(text, own, why):
    assert_missing(why, text, compiled=own, incomplete=False)


def test_a_case_that_did_not_compile_says_why():
    (need,) = compiled()
    refused = {need: CompileResult.failed("unsupported", "f32 alone is supported")}
    assert_missing(r"mask/a@.*: f32", 'temp_bytes("mask/a", "host")', compiled=refused, incomplete=False)


FAILED = {
    "timeout": "took too long",
    "crashed": "crashed",
    "skipped": "was skipped",
    "oom": "ran out of memory",
}


@pytest.mark.parametrize(("status", "how"), FAILED.items())
def test_what_this_machine_failed_at_is_told_apart(status, how):
    told = f"{how} here: why"
    (need,) = compiled()
    own = {need: CompileResult.failed(status, "why")}
    for text in ('program("mask/a", "host")', 'fact("mask/a", "path")', 'temp_bytes("mask/a", "host")'):
        assert_missing(rf"mask/a@.* for host {told}", text, compiled=own, incomplete=True)
    for text, need in (('status("mask/a")', JUDGE), ('check("mask/order", "mask/a")', CHECK)):
        assert_missing(rf"mask/a@.* {told}", text, judged={need: Judged(status, "why")}, incomplete=True)


def test_a_compiler_that_is_not_installed_is_told_apart():
    (need,) = compiled("tpu:v5p")
    why = "libtpu is not installed; pip install -e '.[tpu]'"
    absent = {need: CompileResult.failed("unsupported", why, transient=True)}
    assert_missing("pip install", 'temp_bytes("mask/a", "tpu:v5p")', compiled=absent, incomplete=True)


# costs, contracts, checks


def test_analytic_costs():
    costs = {Need(Need.COST, case()): Cost(flops=6.0, bytes=2.0)}
    text = 'cost_flops("mask/a") / cost_bytes("mask/a")'
    assert value(text, costs=costs) == (3, ("the family's cost formula",), ())
    assert_missing("no formula of dense_flops", 'cost_dense_flops("mask/a")', costs=costs)
    assert_missing("refused", 'cost_flops("mask/a")', costs={Need(Need.COST, case()): "refused"})


JUDGE = Need(Need.JUDGE, case())
CHECK = Need(Need.JUDGE, case(), check="mask/order")


def test_a_contract_that_was_refused_is_no_answer_and_one_that_did_not_run_is_incomplete():
    assert_missing(
        r"mask/a@.* is unsupported: needs a GPU",
        'status("mask/a") == ok',
        judged={JUDGE: Judged("unsupported", "needs a GPU")},
        incomplete=False,
    )
    judged = {JUDGE: Judged(None, "its contract did not run")}
    assert_missing("did not run", 'status("mask/a")', judged=judged, incomplete=True)


@pytest.mark.parametrize("checks", [{}, {"mask/order": None}, {"mask/twice": True}])
def test_a_check_that_decided_nothing_is_no_answer(checks):
    assert_missing(
        "mask/order decides nothing of mask/a@",
        'check("mask/order", "mask/a")',
        judged={CHECK: Judged("ok", "", checks)},
        incomplete=False,
    )


# devices


def test_a_tpus_vector_units_are_counted_and_a_gpus_are_not_known():
    assert value('vector_ops("tpu:v5p")')[0] == 8 * 128 * 4 * 2 * 1.75e9
    assert_missing("the data file of cuda:h200 has no vector_ops", 'vector_ops("cuda:h200")')


# columns of the published table


def test_columns_may_be_arithmetic_over_the_shape():
    assert value('growth("rows * dense / 2", 8Ki)')[0] == 9 / 4
    square = replace(CLAIM, table=table(*((n, 1e-6 * n**2 + 1, 1.0) for n in (1024, 2048, 4096, 8192))))
    assert value('fit("dense", 16Ki)', square)[0] == pytest.approx(1 + 1e-6 * 16384**2)
    assert value('fit("dense", 16Ki, start=1Ki, square=0)', square)[0] == pytest.approx(1, rel=1e-3)
    assert_missing("takes four rows", 'fit("dense", 16Ki, start=2Ki)', square)


def test_rows_that_begin_alike_are_refused_where_both_are_needed():
    twice = replace(CLAIM, table=table((1024, 1.0, 4.0), (4096, 4.0, 4.0), (4096, 2.0, "OOM")))
    with pytest.raises(ValueError, match="two rows of the table begin with 4096"):
        value('first_win("3", "dense")', twice)
    assert value('first_win("sparse + 1", "sparse")', twice)[0] == 1024  # one of them has no number there


def test_what_is_compiled_within_a_column_counts_as_compiled():
    targets = [compiled("tpu:v5p", case(seq=n), temp_bytes=n // 2) for n in (1024, 4096, 8192, 16384)]
    own = {need: told for one in targets for need, told in one.items()}
    text = """growth('temp_bytes("mask/a", "tpu:v5p", seq=n)', 8Ki)"""
    assert value(text, compiled=own) == (2, ("the published table", "compiled for tpu:v5p"), ("tpu:v5p",))
    assert rests_on(text, compiled=own) == (True, True)


# what was read


def test_the_functions_that_a_value_rests_on_are_those_within_quotes_too():
    assert functions_in(parse("1 + max(rows, 2)")) == frozenset()
    assert functions_in(parse("""growth('flops("a", "host") / n', 4)""")) == {"growth", "flops"}
    assert functions_in(parse("""exponent("flops", "a", "host", 1, 2)""")) == {"exponent", "flops"}
    assert functions_in(parse("""growth('not (', 4)""")) == {"growth"}
    assert functions_in(parse("""program("flops", "host")""")) == {"program"}


LENGTHS = [1024 * 2**k for k in range(7)]


def curve(constant=0.0, linear=0.0, quadratic=0.0, lengths=LENGTHS):
    return {float(n): constant + linear * n + quadratic * n**2 for n in lengths}


# growth


@pytest.mark.parametrize(
    ("column", "factor"), [(curve(linear=3e-4), 2), (curve(quadratic=2e-9), 4), (curve(5), 1)]
)
def test_growth_is_the_value_over_that_at_half_the_length(column, factor):
    assert growth(column, 4096) == pytest.approx(factor)


@pytest.mark.parametrize("length", [1024, 2048, 3000, 8192])
def test_growth_without_both_rows_has_no_value(length):
    with pytest.raises(Missing, match=f"no pair of rows at {length / 2:g} and {length}"):
        growth({1024: 1.0, 4096: 4.0}, length)


def test_growth_from_nothing_is_refused():
    with pytest.raises(ValueError, match="growth needs numbers above zero; the row at 1024") as refused:
        growth({1024: 0.0, 2048: 4.0}, 2048)
    assert not isinstance(refused.value, Missing)


# fit


@pytest.mark.parametrize("length", [512, 65536, 1 << 20])
def test_a_fit_finds_the_curve_that_the_rows_lie_on(length):
    column = curve(0.3, 2e-5, 7e-10)
    assert fit(column, length) == pytest.approx(0.3 + 2e-5 * length + 7e-10 * length**2)


def test_residuals_are_relative():
    """Four rows off a line by one per cent each, up and down: none outweighs the others by its size."""
    column = {n: 1e-3 * n * (1.01 if place % 2 else 0.99) for place, n in enumerate((1.0, 10.0, 100.0, 1e3))}
    assert max(abs(fit(column, n) / value - 1) for n, value in column.items()) < 0.02


@pytest.mark.parametrize(("start", "rows"), [(0, 3), (4096, 3)])
def test_three_rows_fit_any_curve_and_show_nothing(start, rows):
    lengths = LENGTHS[:3] if not start else LENGTHS[:5]
    with pytest.raises(Missing, match=f"takes four rows; {rows} are there"):
        fit(curve(1, lengths=lengths), 65536, start=start)


def test_a_fit_of_what_is_zero_is_refused():
    with pytest.raises(ValueError, match="a fit with relative residuals needs numbers above zero"):
        fit({**curve(1), 1024.0: 0.0}, 65536)


# first win


def test_first_win_is_the_length_from_which_on_it_stays_below():
    dense = {1: 2.0, 2: 2.0, 4: 2.0, 8: 2.0}
    assert first_win(dense, {1: 1.0, 2: 3.0, 4: 1.0, 8: 1.0}) == 4
    assert first_win({1: 2.0}, {1: 1.0}) == 1
    assert first_win(dense, {2: 1.0, 1: 1.0}) == 1  # in the order of the lengths


@pytest.mark.parametrize("sparse", [{1: 1.0, 2: 2.0}, {1: 1.0, 2: 3.0}, {4: 1.0}])
def test_what_is_not_ahead_at_the_end_never_wins(sparse):
    with pytest.raises(Missing, match="never stays below"):
        first_win({1: 2.0, 2: 2.0}, sparse)


# crossover


def test_a_crossover_lies_where_the_ratio_is_one_in_both_logarithms():
    # dense over sparse is 1/4 at 1Ki and 4 at 16Ki: in the middle of the logarithms, 4Ki
    assert crossover({1024: 1.0, 16384: 16.0}, {1024: 4.0, 16384: 4.0}) == pytest.approx(4096)


def test_the_last_of_several_crossovers_counts():
    # between 4 and 8 the ratio goes from 1/2 to 2
    dense, sparse = {1: 1.0, 2: 2.0, 4: 1.0, 8: 2.0}, {1: 2.0, 2: 1.0, 4: 2.0, 8: 1.0}
    assert crossover(dense, sparse) == pytest.approx(math.sqrt(32))


def test_a_row_at_which_both_are_equal_is_the_crossover():
    assert crossover({1: 1.0, 2: 2.0, 4: 4.0}, {1: 2.0, 2: 2.0, 4: 2.0}) == pytest.approx(2)


def test_columns_that_never_cross_have_no_crossover():
    with pytest.raises(Missing, match="neither passes the other"):
        crossover({1: 1.0, 2: 1.0}, {1: 2.0, 2: 3.0})


@pytest.mark.parametrize("row", [(4, 0.0, 1.0), (4, 1.0, 0.0), (4, -1.0, 1.0), (0, 1.0, 1.0)])
def test_a_crossover_of_what_has_no_logarithm_is_refused(row):
    length, first, second = row
    with pytest.raises(ValueError, match=f"a crossover needs numbers above zero; .* at {length}$"):
        crossover({1: 1.0, length: first}, {1: 2.0, length: second})
