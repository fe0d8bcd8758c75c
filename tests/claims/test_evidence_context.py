"""Evidence of a claim's function, from hand-made evidence."""

from dataclasses import replace

import pytest

from harness.claims.documents import Source
from harness.claims.evidence_context import EvidenceContext
from harness.claims.model import Claim, ContractOutcome, EvidenceRequest
from harness.core.case import Case
from harness.core.errors import UsageError
from harness.core.record import Cost
from harness.core.static_figures import ALL_FIGURES, Static
from harness.run.compile.request import CompileResult
from tests.claims.planted import CATALOG, static
from tests.goldens import assert_golden

SHAPE = {"rows": 4, "seq": 8, "topk": 2}
TPU = "tpu:v5p"
TABLE = "n  dense  sparse\n1024  1.0  4.0\n4096  4.0  4.0\n8192  9.0  2.0\n16384  16.0  OOM"


def case(implementation="mask/a", mode="fwd", options=(), **shape):
    return Case.of(implementation, dict(options), {**SHAPE, **shape}, mode)


def known(target="host", of=None, told=None, *, facts=None, **shape):
    request = EvidenceRequest(EvidenceRequest.COMPILE, of or case(**shape), target)
    return {request: CompileResult("ok", told or Static.none("not compiled"), facts=facts or {})}


def compiled(target="host", of=None, program=None, calls=(), **figures):
    return known(target, of, static(program, calls, **figures))


def answers(evidence=(), table=TABLE):
    claim = Claim("adds up", on="any", table=Source("Paper").table(table))
    claim.family, claim.shape = "mask", SHAPE
    return EvidenceContext(claim, CATALOG, dict(evidence))


COMPILED, CONTRACT = (
    EvidenceRequest(EvidenceRequest.COMPILE, case(), "host"),
    EvidenceRequest(EvidenceRequest.CONTRACT, case()),
)
CHECK, COSTED = (
    EvidenceRequest(EvidenceRequest.CONTRACT, case(), check="mask/order"),
    EvidenceRequest(EvidenceRequest.COST, case()),
)
LENGTHS = [
    compiled(TPU, case(seq=1024), temp_bytes=low) | compiled(TPU, case(seq=4096), temp_bytes=48)
    for low in (3, 0)
]
SQUARE = "\n".join(["n  dense", *(f"{n}  {1e-6 * n**2 + 1}" for n in (1024, 2048, 4096, 8192))])
FACTS = known(told=static(), facts={"path": "fast", "blocks": 16, "unset": None})
PROGRAMS = compiled(program="sha256:a", calls=("TopK",)) | compiled(TPU, program="sha256:a")
OPS = known(TPU, told=replace(static("sha256:a"), opcodes={"convolution": 3, "sort": 1}))
FAILED = ("timeout", "crashed", "skipped", "oom")
# (what is context, of which evidence)
ASKS = {
    "a figure over another's": (
        lambda e: e.temp_bytes("mask/a", TPU) / e.temp_bytes("a", TPU, rows=2),
        compiled(TPU, temp_bytes=10) | compiled(TPU, case(rows=2), temp_bytes=5),
    ),
    "a mode": (lambda e: e.temp_bytes("a", "host", mode="bwd"), compiled(of=case(mode="bwd"), temp_bytes=7)),
    "an option": (
        lambda e: e.temp_bytes("b[keep=1]", "host"),
        compiled(of=case("mask/b", options={"keep": 1}), temp_bytes=7),
    ),
    "what is planned": (
        lambda e: e.planned_bytes("a", "host"),
        compiled(argument_bytes=1, output_bytes=2, temp_bytes=4, alias_bytes=1),
    ),
    "the same program": (lambda e: e.program("a", "host") == e.program("a", TPU), PROGRAMS),
    "a custom call": (lambda e: e.calls("a", "host", "TopK"), PROGRAMS),
    "no custom call": (lambda e: e.calls("a", "host", "PartialReduce"), PROGRAMS),
    "operations": (lambda e: e.ops("a", TPU, "convolution"), OPS),
    "no operation": (lambda e: e.ops("a", TPU, "dot"), OPS),
    "operations not known": (lambda e: e.ops("a", TPU, "dot"), known(TPU, told=static("sha256:a"))),
    "an exponent": (lambda e: e.exponent("temp_bytes", "a", TPU, 1024, 4096), LENGTHS[0]),
    "an exponent of nothing": (lambda e: e.exponent("temp_bytes", "a", TPU, 1024, 4096), LENGTHS[1]),
    "a trace": (lambda e: e.trace_bytes("t"), compiled(of=case("mask/t"), temp_bytes=96)),
    "a fact": (lambda e: e.fact("a", "path") == "fast", FACTS),
    "a number of facts": (lambda e: e.fact("a", "blocks") / 4, FACTS),
    "no fact": (lambda e: e.fact("a", "width"), FACTS),
    "a fact without a value": (lambda e: e.fact("a", "unset"), FACTS),
    "FLOPs not counted": (lambda e: e.flops("a", "host"), compiled()),
    "a program not given": (lambda e: e.program("a", "host"), compiled()),
    "calls not given": (lambda e: e.calls("a", "host", "TopK"), compiled()),
    "FLOPs of a loop": (lambda e: e.flops("a", "host"), known(told=static(flops=1.0, body_only=True))),
    "FLOPs not gathered": (lambda e: e.flops("a", "host"), {}),
    "the host's memory": (lambda e: e.memory("host"), {}),
    "a device's vector units": (lambda e: e.vector_ops(TPU), {}),
    "a device without vector units": (lambda e: e.vector_ops("cuda:h200"), {}),
    "a case that does not compile": (
        lambda e: e.temp_bytes("a", "host"),
        {COMPILED: CompileResult.failed("unsupported", "f32 alone is supported")},
    ),
    "a compiler that is missing": (
        lambda e: e.temp_bytes("a", "host"),
        {COMPILED: CompileResult.failed("unsupported", "libtpu is not installed", transient=True)},
    ),
    **{
        f"{what} of a {status} case": (ask, {request: made(status, "why")})
        for status in FAILED
        for what, ask, request, made in (
            ("the program", lambda e: e.program("a", "host"), COMPILED, CompileResult.failed),
            ("a fact", lambda e: e.fact("a", "path"), COMPILED, CompileResult.failed),
            ("the contract", lambda e: e.status("a"), CONTRACT, ContractOutcome),
            ("a check", lambda e: e.check("mask/order", "a"), CHECK, ContractOutcome),
        )
    },
    "costs": (lambda e: e.cost_flops("a") / e.cost_bytes("a"), {COSTED: Cost(flops=6.0, bytes=2.0)}),
    "a cost without a formula": (lambda e: e.cost_dense_flops("a"), {COSTED: Cost(flops=6.0, bytes=2.0)}),
    "costs refused": (lambda e: e.cost_flops("a"), {COSTED: "refused"}),
    "a contract refused": (
        lambda e: e.status("a") == "ok",
        {CONTRACT: ContractOutcome("unsupported", "needs a GPU")},
    ),
    "a contract not run": (
        lambda e: e.status("a"),
        {CONTRACT: ContractOutcome(None, "its contract did not run")},
    ),
    **{
        f"a check of {checks}": (
            lambda e: e.check("mask/order", "a"),
            {CHECK: ContractOutcome("ok", "", checks)},
        )
        for checks in ({}, {"mask/order": None}, {"mask/twice": True}, {"mask/order": False})
    },
    "growth": (lambda e: e.growth("dense", 8192), {}),
    "the first win": (lambda e: e.first_win("dense", "sparse"), {}),
    "the crossover": (lambda e: e.crossover("dense", "sparse"), {}),
    "a fit to three rows": (lambda e: e.fit("dense", 32768, start=4096), {}),
}


def test_values_from_evidence():
    lines = []
    for name, (ask, evidence) in ASKS.items():
        found = ask(answers(evidence))
        value = f"{found.value:.6g}" if isinstance(found.value, float) else found.value
        text = f"{value} = {found.text}" if found.text else value
        if found.missing:
            text = f"none{', incomplete' if found.missing.incomplete else ''}: {found.missing}"
        lines.append(
            f"{name}: {text}; by {', '.join(found.by)}; on {', '.join(found.targets) or 'no target'}"
        )
    assert_golden("claims_answers.txt", "\n".join(lines) + "\n")


@pytest.mark.parametrize("figure", [figure for figure in ALL_FIGURES if figure != "optimal_s"])
def test_figures_have_their_names(figure):
    assert getattr(answers(compiled(**{figure: 11})), figure)("a", "host").value == 11
    assert f"{figure} of mask/a@" in str(getattr(answers(compiled()), figure)("a", "host").missing)


def test_requests_are_collected():
    context = answers()
    context.temp_bytes("mask/a", TPU)
    context.temp_bytes("a", TPU, rows=2)
    assert list(context.requests) == [
        EvidenceRequest(EvidenceRequest.COMPILE, of, TPU) for of in (case(), case(rows=2))
    ]


def test_rows_growth_and_a_fit():
    e = answers()
    assert [[cell.value for cell in row] for row in e.each("sparse")] == [[1024, 4], [4096, 4], [8192, 2]]
    assert (e["16384"].dense.value, e["16384"].sparse.value) == (16, "OOM")
    for length in (1024, 3000, 16384 * 2):
        with pytest.raises(UsageError, match=f"not have rows at {length / 2:g} and {length}"):
            e.growth("sparse", length)
    assert answers(table=SQUARE).fit("dense", 16384).value == pytest.approx(1 + 1e-6 * 16384**2)


def test_two_rows_of_one_length_are_refused():
    twice = "n  dense  sparse\n1024  1.0  4.0\n4096  4.0  4.0\n4096  2.0  OOM"
    with pytest.raises(UsageError, match="the table has two rows for 4096"):
        answers(table=twice).first_win("dense", "sparse")
