"""Traces of a million tokens: what is extrapolated is exact, and nothing of that size is allocated."""

from dataclasses import replace

import pytest

from impls.attention.family import FAMILY as ATTENTION
from impls.mla.family import FAMILY as MLA
from tests.impls.variants import variants

pytestmark = pytest.mark.torch
MODES = ("fwd", "bwd", "fwd_bwd")
SMALL = {"heads": 2, "kv_heads": 1, "head_dim": 64}
MIB = 1 << 20
FIGURES = (
    "argument_bytes",
    "output_bytes",
    "temp_bytes",
    "alias_bytes",
    "peak_bytes",
    "flops",
    "flops_source",
)
LONG = pytest.mark.long  # half a minute of tracing each; faster programs go the same way through the tracer


@pytest.fixture(scope="module")
def tracing():
    """Gives (trace(length), the whole length) of an implementation; a trace is (figures, survey)."""
    torch = pytest.importorskip("torch")
    from harness.worker.frameworks.base import Patience
    from harness.worker.frameworks.torch import arrays, binding, extrapolation, trace

    def make(family, name, mode, **workload):
        w = family.workload(**workload)
        function = getattr(variants(family.name), name)(w)
        used = {k: shape for k, shape in family.shapes(w).items() if k in function.__code__.co_varnames}
        cpu = torch.device("cpu")

        def bind(inputs, cotangent):
            return binding.bind(function, tuple(used), mode, inputs, cotangent)

        def at(length):
            survey, own = extrapolation.Survey(), extrapolation.resize(used, length)
            with torch.set_grad_enabled(mode != "fwd"):
                static = trace.figures(
                    bind,
                    lambda: {k: arrays.empty(own[k], cpu) for k in own},
                    Patience(60.0, 1 << 60),
                    survey,
                )
            return static, survey

        return at, extrapolation.longest_axis(used)

    return make


def same(one, other):
    return [getattr(one, name) for name in FIGURES] == [getattr(other, name) for name in FIGURES]


def test_a_polynomial_is_continued_in_whole_numbers_and_nothing_else():
    from harness.worker.frameworks.torch.extrapolation import extrapolate

    def parabola(x):
        return 3 * x * x - 7 * x + 10**15

    assert extrapolate([parabola(x) for x in range(2, 7)], 10**6) == parabola(10**6 + 2)
    assert extrapolate([5, 5, 5, 5, 5], 99) == 5
    assert extrapolate([x**3 for x in range(5)], 9) is None
    assert extrapolate([1, 2, 3, 4, 6], 9) is None


def trace_of(temporaries):
    """trace(length) of a made-up loop, whose peak has one buffer of `temporaries(length)` bytes."""
    from harness.core.peak_owners import Owner, Owners
    from harness.core.static_figures import Static
    from harness.worker.frameworks.torch.extrapolation import Survey

    def at(length):
        temp, peak = temporaries(length), 8 * length + temporaries(length)
        sizes = {"argument_bytes": 8 * length, "output_bytes": 0, "alias_bytes": 0, "temp_bytes": temp}
        buffers = [
            Owner("x", "argument", 8 * length, "", "", ""),
            Owner("mul", "temp", temp, *["mul"] * 3),
        ]
        owners = Owners(peak, 0, 0, (*buffers,), (0, 0))
        static = replace(
            Static.none("not of a made-up loop"),
            **sizes,
            peak_bytes=peak,
            flops=length,
            flops_source="matmul_only",
            owners=owners,
        )
        return static, Survey(operators=length, places={"loop": [peak] * 3}, buffers=buffers)

    return at


def test_a_cap_that_no_short_length_reaches_is_not_extrapolated_over():
    """2Ki to 5Ki tokens are below it, as a length between shows; 16Ki to 28Ki are above it."""
    from harness.worker.frameworks.torch.extrapolation import figures

    capped, whole = trace_of(lambda length: 4 * min(length, 8 << 10)), 1 << 20
    static = figures(capped, whole)
    assert static.temp_bytes == capped(whole)[0].temp_bytes == 32 << 10
    assert static.peak_bytes == (8 << 20) + (32 << 10)
    assert (static.owners.exact, sorted(owner.bytes for owner in static.owners.owners)) == (
        True,
        [32 << 10, 8 << 20],
    )
    assert "over 16384 to 28672 tokens, which foretell a trace over 49152" in static.warnings[0]


def test_pairs_of_tiles_are_checked_no_farther_than_a_short_trace_reaches():
    from harness.worker.frameworks.torch.extrapolation import CHECK_OPERATORS, figures

    linear, asked = trace_of(lambda length: 4 * length), {}

    def at(length):
        static, survey = linear(length)
        survey.operators = asked[length] = 20 * (length >> 10) ** 2
        return static, survey

    static = figures(at, 1 << 20)
    assert static.temp_bytes == 4 << 20
    assert max(asked.values()) <= CHECK_OPERATORS
    assert static.warnings[0].endswith(f"a whole trace has some {20 << 20} operators")


def test_where_the_longer_trace_has_no_figures_nothing_is_said_of_them():
    from harness.core.static_figures import Static
    from harness.worker.frameworks.torch.extrapolation import figures

    linear = trace_of(lambda length: 4 * length)
    short = {*range(2 << 10, 6 << 10, 1 << 10), *range(16 << 10, 32 << 10, 4 << 10)}

    def at(length):
        static, survey = linear(length)
        return (static if length in short else Static.none("took more than 10 s")), survey

    static = figures(at, 1 << 20)
    assert static.planned_bytes is None
    assert "there is no trace over 49152 to hold them against" in static.unavailable["flops"]


def test_what_a_longer_trace_belies_has_no_figures():
    from harness.worker.frameworks.torch.extrapolation import figures

    bent = trace_of(lambda length: min(length, 8 << 10) + max(0, length - (40 << 10)))
    static = figures(bent, 1 << 20)
    assert static.planned_bytes is None
    assert "a trace over 49152 has other figures than they foretell" in static.unavailable["flops"]


@pytest.mark.parametrize(
    ("family", "name", "mode", "fields"),
    [
        pytest.param(ATTENTION, "dense_chunked", "bwd", SMALL, marks=pytest.mark.full),
        *(pytest.param(ATTENTION, "dense_chunked", mode, SMALL, marks=LONG) for mode in ("fwd", "fwd_bwd")),
        pytest.param(ATTENTION, "nsa_fla_torch", "fwd_bwd", SMALL, marks=LONG),
        (ATTENTION, "dsa_gather", "fwd", {**SMALL, "gated": False, "indexer_heads": 2, "topk": 512}),
        pytest.param(MLA, "naive_chunked", "fwd_bwd", {}, marks=LONG),
    ],
)
def test_an_extrapolated_trace_is_the_whole_one(tracing, monkeypatch, family, name, mode, fields):
    from harness.worker.frameworks.torch import extrapolation

    monkeypatch.setattr(extrapolation, "MOST_OPERATORS", 100)
    monkeypatch.setattr(extrapolation, "CHECK_OPERATORS", 100)
    trace, whole = tracing(family, name, mode, seq=12 << 10, **fields)
    guess, (exact, _) = extrapolation.figures(trace, whole), trace(whole)
    assert same(guess, exact)
    assert guess.warnings[1].startswith("FLOPs and bytes extrapolated from 4 traces over ")
    assert "extrapolated" in guess.unavailable["program"]


@LONG
def test_what_no_polynomial_describes_is_not_extrapolated(tracing, monkeypatch):
    from harness.worker.frameworks.torch import extrapolation

    def chosen(trace):
        return extrapolation.figures(trace, 1 << 20).unavailable.get("flops", "")

    trace, _ = tracing(ATTENTION, "dense_chunked", "fwd", seq=1 << 20, **SMALL)
    assert chosen(trace) == ""
    monkeypatch.setattr(extrapolation, "resize", lambda shapes, length: {n: shapes[n] for n in shapes})
    odd, _ = tracing(ATTENTION, "dense_chunked", "fwd", seq=1 << 12, **SMALL)
    assert chosen(odd) == "traced whole"

    def jumps(length):
        static, survey = trace(length)
        survey.places["odd"] = [length % 3] * 3
        return static, survey

    monkeypatch.undo()
    assert "cannot be extrapolated" in chosen(jumps)


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("nsa_mslk", "bwd"),
        ("nsa_mslk_upstream", "fwd"),
        ("dense_chunked", "fwd"),
        ("dense", "fwd_bwd"),
        pytest.param("nsa_paper", "fwd_bwd", marks=pytest.mark.full),
        pytest.param("nsa_mslk", "fwd_bwd", marks=pytest.mark.full),
    ],
)
def test_the_short_way_through_an_operator_is_the_modes(tracing, monkeypatch, name, mode):
    from harness.worker.frameworks.torch.fake_ops import Fakes

    trace, whole = tracing(ATTENTION, name, mode, seq=1024, dtype="bf16", **SMALL)
    quick, _ = trace(whole)
    monkeypatch.setattr(Fakes, "call", lambda _self, func, args, kwargs: func(*args, **kwargs))
    slow, _ = trace(whole)
    assert same(quick, slow)
    assert quick.program == slow.program


@pytest.mark.parametrize("causal", [True, False])
def test_dense_attention_counts_what_it_costs(tracing, causal):
    n = 1 << 16
    pairs = n * (n + 1) // 2 if causal else n * n
    found = {
        mode: tracing(ATTENTION, "dense", mode, seq=n, causal=causal, **SMALL)[0](n)[0] for mode in MODES
    }
    forward = 4 * 2 * 64 * pairs
    assert found["fwd"].flops == forward
    assert found["bwd"].flops == 5 * forward // 2
    assert found["fwd_bwd"].flops == 7 * forward // 2
    cost = ATTENTION.cost(ATTENTION.workload(seq=n, causal=causal, **SMALL)).flops
    assert found["fwd"].flops == pytest.approx(cost, rel=2 / n)
    query, key = 4 * n * 2 * 64, 4 * n * 64
    assert found["fwd"].argument_bytes == query + 2 * key
    assert found["fwd"].peak_bytes == 2 * query + 2 * key + 4 * 2 * n, "and the softmax's sums, one a row"


@pytest.mark.full
@pytest.mark.parametrize(
    "module",
    [*(pytest.param(n, marks=LONG) for n in ("dense.dense_chunked", "mslk.nsa_mslk")), "dense.dense"],
)
def test_a_million_tokens_are_traced_in_little_memory(lab, tmp_path, module):
    seq = 1 << 20
    w = ATTENTION.workload(seq=seq, **SMALL)
    workload = {axis: getattr(w, axis) for axis in w.__dataclass_fields__}
    name = module.partition(".")[2]
    limits = {"workload": workload, "memory_bytes": 1024 * MIB}
    worker = lab.spawn("case", "torch", f"attention/{name}", f"impls.attention.{module}", tmp_path, **limits)
    try:
        static = worker.ask("prepare", 120, trace_s=50.0)["static"]
    finally:
        worker.close()
    assert static["flops"] > ATTENTION.cost(w).flops / 100
    assert static["peak_bytes"] > 4 * seq * 64 * 6 > 1024 * MIB, "what it would take to run it"
