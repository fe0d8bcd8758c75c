"""What a claim's function is answered, each from evidence made by hand."""

from dataclasses import replace

import pytest

from harness.claims.answers import Answers
from harness.claims.documents import Source
from harness.claims.model import Claim, Judged, Need
from harness.core.case import Case
from harness.core.errors import UsageError
from harness.core.record import Cost
from harness.core.static_figures import ALL_FIGURES, Static
from harness.run.compile.request import CompileResult
from tests.claims.planted import CATALOG, static

SHAPE = {"rows": 4, "seq": 8, "topk": 2}
TPU = "tpu:v5p"
ON_TPU = (f"compiled for {TPU}",), (TPU,)
TABLE = "n  dense  sparse\n1024  1.0  4.0\n4096  4.0  4.0\n8192  9.0  2.0\n16384  16.0  OOM"


def case(implementation="mask/a", mode="fwd", options=(), **shape):
    return Case.of(implementation, dict(options), {**SHAPE, **shape}, mode)


def known(target="host", of=None, told=None, *, facts=None, **shape):
    need = Need(Need.COMPILE, of or case(**shape), target)
    return {need: CompileResult("ok", told or Static.none("not compiled"), facts=facts or {})}


def compiled(target="host", of=None, program=None, calls=(), **figures):
    return known(target, of, static(program, calls, **figures))


def answers(evidence=(), table=TABLE):
    claim = Claim("adds up", on="any", table=Source("Paper").table(table))
    claim.family, claim.shape = "mask", SHAPE
    return Answers(claim, CATALOG, dict(evidence))


def value_and_origins(ask, evidence=(), **more):
    found = ask(answers(evidence, **more))
    return found.value, found.by, found.targets


def assert_missing(why, ask, evidence=(), *, incomplete=False, **more):
    """There is no value, for this reason; `incomplete` where another machine might have one."""
    found = ask(answers(evidence, **more))
    assert found.value is None
    assert why in str(found.missing)
    assert found.missing.incomplete is incomplete


# compiled


def test_a_figure_of_a_compiled_case():
    both = compiled(TPU, temp_bytes=10) | compiled(TPU, case(rows=2), temp_bytes=5)
    asked = answers(both)
    ratio = asked.temp_bytes("mask/a", TPU) / asked.temp_bytes("a", TPU, rows=2)
    assert (ratio.value, ratio.text, ratio.by, ratio.targets) == (2.0, "10 / 5", *ON_TPU)
    assert list(asked.needs) == list(both)


def test_the_mode_is_a_keyword_and_options_stand_in_brackets():
    backward = compiled(of=case(mode="bwd"), temp_bytes=7)
    assert value_and_origins(lambda e: e.temp_bytes("a", "host", mode="bwd"), backward)[0] == 7
    chosen = compiled(of=case("mask/b", options={"keep": 1}), temp_bytes=7)
    assert value_and_origins(lambda e: e.temp_bytes("b[keep=1]", "host"), chosen)[0] == 7


@pytest.mark.parametrize("figure", [figure for figure in ALL_FIGURES if figure != "optimal_s"])
def test_every_figure_is_the_one_that_it_is_called(figure):
    def ask(e):
        return getattr(e, figure)("a", "host")

    assert value_and_origins(ask, compiled(**{figure: 11}))[0] == 11
    assert_missing(f"{figure} of mask/a@", ask, compiled())


def test_planned_bytes_are_arguments_outputs_and_temporaries_without_aliases():
    figures = {"argument_bytes": 1, "output_bytes": 2, "temp_bytes": 4, "alias_bytes": 1}
    assert value_and_origins(lambda e: e.planned_bytes("a", "host"), compiled(**figures))[0] == 6


def test_programs_and_their_calls():
    both = compiled(program="sha256:a", calls=("TopK",)) | compiled(TPU, program="sha256:a")
    same = value_and_origins(lambda e: e.program("a", "host") == e.program("a", TPU), both)
    assert same == (True, ("compiled for host", f"compiled for {TPU}"), ("host", TPU))
    assert value_and_origins(lambda e: e.calls("a", "host", "TopK"), both)[0] is True
    assert value_and_origins(lambda e: e.calls("a", "host", "PartialReduce"), both)[0] is False


def test_operations_of_the_optimised_module_are_counted():
    own = known(TPU, told=replace(static("sha256:a"), opcodes={"convolution": 3, "sort": 1}))
    assert value_and_origins(lambda e: e.ops("a", TPU, "convolution"), own) == (3, *ON_TPU)
    assert value_and_origins(lambda e: e.ops("a", TPU, "dot"), own)[0] == 0
    assert_missing("are not known", lambda e: e.ops("a", TPU, "dot"), known(TPU, told=static("sha256:a")))


def test_an_exponent_is_the_growth_between_two_lengths():
    both = compiled(TPU, case(seq=1024), temp_bytes=3) | compiled(TPU, case(seq=4096), temp_bytes=48)
    assert value_and_origins(lambda e: e.exponent("temp_bytes", "a", TPU, 1024, 4096), both) == (2, *ON_TPU)
    nothing = compiled(TPU, case(seq=1024), temp_bytes=0) | compiled(TPU, case(seq=4096), temp_bytes=8)
    why = "temp_bytes of a is 0: it has no exponent"
    assert_missing(why, lambda e: e.exponent("temp_bytes", "a", TPU, 1024, 4096), nothing)


def test_a_trace_counts_what_a_torch_implementation_holds_at_once():
    own = compiled(of=case("mask/t"), temp_bytes=96)
    assert value_and_origins(lambda e: e.trace_bytes("t"), own) == (
        96,
        ("traced here over fake tensors",),
        ("host",),
    )


def test_a_fact_is_what_the_case_says_of_itself():
    own = known(told=static(), facts={"path": "fast", "blocks": 16, "unset": None})
    by = ("a fact of the case, read here",)
    assert value_and_origins(lambda e: e.fact("a", "path") == "fast", own) == (True, by, ("host",))
    assert value_and_origins(lambda e: e.fact("a", "blocks") / 4, own)[0] == 4
    for name in ("width", "unset"):
        assert_missing(f'no fact "{name}"; it has path, blocks', lambda e, name=name: e.fact("a", name), own)


@pytest.mark.parametrize(
    ("ask", "own", "why"),
    [
        (lambda e: e.flops("a", "host"), compiled(), "not counted"),
        (lambda e: e.program("a", "host"), compiled(), "not given"),
        (lambda e: e.calls("a", "host", "TopK"), compiled(), "not given"),
        (lambda e: e.flops("a", "host"), known(told=static(flops=1.0, body_only=True)), "a loop's body once"),
        (lambda e: e.flops("a", "host"), {}, "not gathered yet"),
        (lambda e: e.memory("host"), {}, "host has no data file"),
        (lambda e: e.vector_ops("cuda:h200"), {}, "the data file of cuda:h200 has no vector_ops"),
    ],
)
def test_what_is_not_to_be_had_says_why(ask, own, why):
    assert_missing(why, ask, own)


COMPILED, JUDGE = Need(Need.COMPILE, case(), "host"), Need(Need.JUDGE, case())
CHECK = Need(Need.JUDGE, case(), check="mask/order")
FAILED = {
    "timeout": "took too long",
    "crashed": "crashed",
    "skipped": "was skipped",
    "oom": "ran out of memory",
}


@pytest.mark.parametrize(("status", "how"), FAILED.items())
def test_what_this_machine_failed_at_is_told_apart(status, how):
    refused, judged = CompileResult.failed(status, "why"), Judged(status, "why")
    for ask, evidence in (
        (lambda e: e.program("a", "host"), {COMPILED: refused}),
        (lambda e: e.fact("a", "path"), {COMPILED: refused}),
        (lambda e: e.status("a"), {JUDGE: judged}),
        (lambda e: e.check("mask/order", "a"), {CHECK: judged}),
    ):
        assert_missing(f"{how} here: why", ask, evidence, incomplete=True)


def test_a_case_that_did_not_compile_says_why():
    refused = {COMPILED: CompileResult.failed("unsupported", "f32 alone is supported")}
    assert_missing(": f32 alone", lambda e: e.temp_bytes("a", "host"), refused)
    absent = {COMPILED: CompileResult.failed("unsupported", "libtpu is not installed", transient=True)}
    assert_missing("libtpu is not", lambda e: e.temp_bytes("a", "host"), absent, incomplete=True)


# costs, contracts, checks


def test_analytic_costs():
    need = Need(Need.COST, case())
    costs = {need: Cost(flops=6.0, bytes=2.0)}
    by = ("the family's cost formula",)
    assert value_and_origins(lambda e: e.cost_flops("a") / e.cost_bytes("a"), costs) == (3, by, ())
    assert_missing("no formula of dense_flops", lambda e: e.cost_dense_flops("a"), costs)
    assert_missing("refused", lambda e: e.cost_flops("a"), {need: "refused"})


def test_a_contract_that_was_refused_is_no_answer_and_one_that_did_not_run_is_incomplete():
    refused = {JUDGE: Judged("unsupported", "needs a GPU")}
    assert_missing("is unsupported: needs a GPU", lambda e: e.status("a") == "ok", refused)
    absent = {JUDGE: Judged(None, "its contract did not run")}
    assert_missing("did not run", lambda e: e.status("a"), absent, incomplete=True)


@pytest.mark.parametrize("checks", [{}, {"mask/order": None}, {"mask/twice": True}])
def test_a_check_that_decided_nothing_is_no_answer(checks):
    own = {CHECK: Judged("ok", "", checks)}
    assert_missing("mask/order decides nothing of mask/a@", lambda e: e.check("mask/order", "a"), own)


def test_a_tpus_vector_units_are_counted():
    found = value_and_origins(lambda e: e.vector_ops(TPU))
    assert found == (8 * 128 * 4 * 2 * 1.75e9, ("the device's file",), ())


# the published table


def test_rows_and_growth():
    e = answers()
    assert [[cell.value for cell in row] for row in e.each("sparse")] == [[1024, 4], [4096, 4], [8192, 2]]
    assert (e["16384"].dense.value, e["16384"].sparse.value) == (16, "OOM")
    growth = e.growth("dense", 8192)
    assert (growth.value, growth.text, growth.by) == (2.25, "9 / 4", ("the published table",))
    for length in (1024, 3000, 16384 * 2):
        with pytest.raises(UsageError, match=f"no pair of rows at {length / 2:g} and {length}"):
            e.growth("sparse", length)


def test_columns_together():
    assert value_and_origins(lambda e: e.first_win("dense", "sparse")) == (8192, ("the published table",), ())
    assert value_and_origins(lambda e: e.crossover("dense", "sparse"))[0] == pytest.approx(4096)
    assert_missing("takes four rows; 3 are there", lambda e: e.fit("dense", 32768, start=4096))
    square = "\n".join(["n  dense", *(f"{n}  {1e-6 * n**2 + 1}" for n in (1024, 2048, 4096, 8192))])
    assert value_and_origins(lambda e: e.fit("dense", 16384), table=square)[0] == pytest.approx(
        1 + 1e-6 * 16384**2
    )


def test_rows_that_begin_alike_are_refused_where_both_are_needed():
    twice = "n  dense  sparse\n1024  1.0  4.0\n4096  4.0  4.0\n4096  2.0  OOM"
    with pytest.raises(UsageError, match="two rows of the table begin with 4096"):
        answers(table=twice).first_win("dense", "sparse")
