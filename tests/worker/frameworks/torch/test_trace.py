from contextlib import suppress

import pytest

from impls.attention.dense.dense import dense
from impls.attention.family import FAMILY as ATTENTION

pytestmark = pytest.mark.torch
N = 1000


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def memory(static):
    names = ("argument", "output", "temp", "alias", "peak")
    return tuple(getattr(static, f"{name}_bytes") for name in names)


def test_a_matrix_product_is_counted_exactly(trace):
    static = trace(lambda x, y: x @ y, (64, 32), (32, 16))
    assert (static.flops, static.flops_source) == (2 * 64 * 32 * 16, "matmul_only")
    arguments, output = 4 * (64 * 32 + 32 * 16), 4 * 64 * 16
    assert memory(static) == (arguments, output, 0, 0, arguments + output)


def test_temporaries_are_the_storages_at_the_peak(trace):
    """x + 1 and its double are live at once; one of them is freed before the sum."""
    assert memory(trace(lambda x: ((x + 1) * 2).sum(), (N,))) == (4 * N, 4, 8 * N - 4, 0, 12 * N)
    static = trace(lambda x: x.exp(), (N,))
    assert memory(static) == (4 * N, 4 * N, 0, 0, 8 * N)
    assert (static.flops, static.flops_source) == (None, None)
    assert "no matrix product" in static.unavailable["flops"]


def test_a_result_in_an_inputs_storage_is_an_alias(trace):
    in_place = trace(lambda x: x.add_(1), (N,))
    view = trace(lambda x: x[::2], (N,))
    assert memory(in_place) == memory(view) == (4 * N, 4 * N, 0, 4 * N, 4 * N)
    assert in_place.planned_bytes == 4 * N


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("rows", "columns", "pairs"), [(64, 64, 2080), (96, 64, 4128), (64, 96, 2080)])
def test_attention_counts_visible_pairs(trace, torch, causal, rows, columns, pairs):
    heads, groups, width, values = 8, 2, 16, 16
    count = pairs if causal else rows * columns

    def attend(x, y, z):
        sdpa = torch.nn.functional.scaled_dot_product_attention
        return sdpa(x, y, z, is_causal=causal, enable_gqa=True)

    shapes = ((3, heads, rows, width), (3, groups, columns, width), (3, groups, columns, values))
    forward = 2 * 3 * heads * count * (width + values)
    backward = 2 * 3 * heads * count * (3 * width + 2 * values)
    assert trace(attend, *shapes).flops == forward
    assert trace(attend, *shapes, mode="bwd").flops == backward
    assert trace(attend, *shapes, mode="fwd_bwd").flops == forward + backward


def test_kernels_of_other_devices_are_counted_equally(torch):
    from harness.worker.frameworks.torch.operators import FORMULAS

    query, key = (2, 8, 64, 16), (2, 2, 64, 16)
    aten, forward, backward = torch.ops.aten, 2 * 2 * 8 * 2080 * 32, 2 * 2 * 8 * 2080 * 80
    calls = {
        aten._scaled_dot_product_flash_attention: ((query, key, key, 0.0, True), forward),
        aten._scaled_dot_product_efficient_attention: ((query, key, key, None, True, 0.0, True), forward),
        aten._scaled_dot_product_cudnn_attention: ((query, key, key, None, True, 0.0, True), forward),
        aten._scaled_dot_product_flash_attention_backward: (
            (query, query, key, key, query, None, None, None, 64, 64, 0.0, True, None, None),
            backward,
        ),
        aten._scaled_dot_product_efficient_attention_backward: (
            (query, query, key, key, None, query, None, None, None, 0.0, [True] * 4, True),
            backward,
        ),
        aten._scaled_dot_product_cudnn_attention_backward: (
            (query, query, key, key, query, None, None, None, None, None, None, 64, 64, 0.0, True),
            backward,
        ),
    }
    for kernel, (arguments, flops) in calls.items():
        assert FORMULAS[kernel](*arguments, out_shape=query) == flops, kernel
        assert FORMULAS[kernel](*arguments, scale=0.5, out_shape=query) == flops
    full = FORMULAS[aten._scaled_dot_product_flash_attention](query, key, key, out_shape=query)
    assert full == 2 * 2 * 8 * 64 * 64 * 32


def test_a_backward_counts_neither_the_forward_nor_its_cotangent(trace):
    shapes = ((64, 32), (32, 16))
    product, result = 2 * 64 * 32 * 16, 4 * 64 * 16
    arguments = 4 * (64 * 32 + 32 * 16)
    alone = trace(lambda x, y: x @ y, *shapes, mode="bwd")
    assert alone.flops == 2 * product
    assert alone.argument_bytes == arguments + 2 * result, "inputs, the result and its cotangent"
    assert alone.output_bytes == arguments
    both = trace(lambda x, y: x @ y, *shapes, mode="fwd_bwd")
    assert both.flops == 3 * product
    assert both.argument_bytes == arguments + result
    assert both.output_bytes == result + arguments


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda x: x[x > 0], "cannot be traced over fake tensors: DynamicOutputShapeException"),
        (
            lambda x: x * 2 if x.sum() > 0 else x,
            "cannot be traced over fake tensors: DataDependentOutputException",
        ),
        (lambda x: 1 / 0, "cannot be traced over fake tensors: ZeroDivisionError: division by zero"),
    ],
)
def test_an_untraceable_call_has_a_reason(trace, function, says):
    static = trace(function, (N,))
    assert static.planned_bytes is None
    assert all(reason.startswith(says) for reason in static.unavailable.values())


def test_an_endless_trace_is_abandoned(trace, torch):
    def forever(x):
        while True:
            x = x + 1

    def hoard(x):
        kept = []
        while True:
            kept.append(torch.ones(1 << 20))

    def swallow(x):
        while True:
            with suppress(Exception):
                x = x + 1

    assert "tracing took more than 0.05 s" in trace(forever, (N,), seconds=0.05).unavailable["flops"]
    assert "tracing took more than 0.05 s" in trace(swallow, (N,), seconds=0.05).unavailable["flops"]
    assert "with 1.00 GiB of live tensors" in trace(hoard, (N,), live=(1 << 30) - 1).unavailable["flops"]


def test_a_programs_hash_is_that_of_its_operators(trace, torch):
    square = (8, 8)

    def first(x, y):
        return (x @ y) @ y

    def renamed(x, y):
        product = x @ y
        return product @ y

    def crossed(x, y):
        return (x @ y) @ x

    assert trace(first, square, square).program == trace(renamed, square, square).program
    different = [
        trace(first, square, square),
        trace(crossed, square, square),
        trace(first, (9, 9), (9, 9)),
        trace(first, square, square, dtype=torch.float64),
        trace(lambda x: x * 2.0, square),
        trace(lambda x: x * 2.5, square),
        trace(lambda x: x.to(torch.bfloat16), square),
        trace(lambda x: x.to(torch.float16), square),
        trace(lambda x: x.T + x, square),
    ]
    assert len({static.program for static in different}) == len(different)


PROGRAM = """
import torch
from harness.worker.frameworks.base import TraceLimits
from harness.worker.frameworks.torch import trace
def call(x):
    y = torch.softmax(x @ x.T, -1)
    return (y * y.sum() + x, y)
figures = trace.figures(
    lambda inputs, _: lambda: call(**inputs), lambda: {"x": torch.empty(8, 8)}, TraceLimits(60, 1 << 40)
)
print(figures.program)
"""


def test_a_hash_is_the_same_in_every_process(printed):
    here: list[str] = []
    exec(PROGRAM, {"print": here.append})
    assert printed(PROGRAM, PYTHONHASHSEED="7", UNUSED="x" * 99) == here
    assert here[0].startswith("sha256:")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # raised by torch when its compiler is imported
def test_the_original_function_of_a_compiled_callable_is_traced(trace, torch):
    def inside(x, y):
        return torch.softmax(x @ y, -1)

    compiled, eager = (trace(function, (64, 32), (32, 16)) for function in (torch.compile(inside), inside))
    for figure in ("flops", "argument_bytes", "output_bytes", "program"):
        assert getattr(compiled, figure) == getattr(eager, figure) is not None
    assert (compiled.temp_bytes, compiled.peak_bytes) == (None, None)
    assert eager.temp_bytes is not None
    assert "torch.compile does not report" in compiled.unavailable["temp_bytes"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # raised by torch when its compiler is imported
@pytest.mark.filterwarnings("ignore:flex_attention called without")
def test_a_compiler_only_operator_is_named(trace, torch):
    from torch.nn.attention.flex_attention import flex_attention

    compiled = torch.compile(flex_attention)
    static = trace(lambda x: compiled(x, x, x), (1, 1, 128, 64))
    assert "HigherOrderOperator flex_attention" in static.unavailable["flops"]


@pytest.mark.parametrize("causal", [True, False])
def test_dense_attentions_counts_equal_its_cost(trace, causal):
    n = 1 << 16
    w = ATTENTION.workload(seq=n, causal=causal, heads=2, kv_heads=1, head_dim=64)
    pairs = n * (n + 1) // 2 if causal else n * n

    def attend(x, y, z):
        return dense(w)(q=x, k=y, v=z)

    shapes = [ATTENTION.shapes(w)[name].shape for name in ("q", "k", "v")]
    found = {mode: trace(attend, *shapes, mode=mode) for mode in ("fwd", "bwd", "fwd_bwd")}
    forward = 4 * 2 * 64 * pairs
    assert found["fwd"].flops == forward
    assert found["bwd"].flops == 5 * forward // 2
    assert found["fwd_bwd"].flops == 7 * forward // 2
    assert found["fwd"].flops == pytest.approx(ATTENTION.cost(w).flops, rel=2 / n)
    query, key = 4 * n * 2 * 64, 4 * n * 64
    assert found["fwd"].argument_bytes == query + 2 * key
    assert found["fwd"].peak_bytes == 2 * query + 2 * key + 4 * 2 * n, "and the softmax's sums, one a row"
