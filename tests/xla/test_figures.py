from types import SimpleNamespace

import numpy as np
import pytest

from harness.xla import figures as xla_figures
from harness.xla.cost_analysis import OptimisedProgram, device_cost
from harness.xla.hlo import Graph
from tests.xla.alone import figures_here

pytestmark = pytest.mark.jax


def test_a_matrix_product_is_counted_exactly():
    static = figures_here(lambda a, b: a @ b, (64, 32), (32, 16))
    assert (static.flops, static.flops_source) == (2 * 64 * 32 * 16, "compiled")
    assert static.argument_bytes == 4 * (64 * 32 + 32 * 16)
    assert (static.output_bytes, static.temp_bytes, static.alias_bytes) == (4 * 64 * 16, 0, 0)
    assert static.bytes_accessed == static.argument_bytes + static.output_bytes
    assert static.planned_bytes == static.argument_bytes + static.output_bytes
    assert static.generated_code_bytes == 0  # what XLA gives for every program on the cpu
    left_out = "XLA's figure for this backend does not include temporaries"
    assert static.unavailable == {"peak_bytes": left_out, "optimal_s": "not given"}
    assert (static.collectives, static.body_only) == ((), False)


def test_an_opaque_call_does_not_affect_sums():
    import jax

    static = figures_here(lambda x, w: jax.lax.top_k(x, 4)[0] @ w, (8, 64), (4, 16))
    assert static.custom_calls == ("TopK",)
    assert (static.flops, static.bytes_accessed, static.flops_source) == (None, None, None)
    assert static.unavailable["flops"] == "the custom call TopK is not counted"
    assert static.temp_bytes > 0


def test_negative_or_missing_figures_are_unavailable():
    memory = SimpleNamespace(
        argument_size_in_bytes=8,
        output_size_in_bytes=-1,
        temp_size_in_bytes=4,
        alias_size_in_bytes=0,
        generated_code_size_in_bytes=77,
        peak_memory_in_bytes=99,
    )
    compiled = SimpleNamespace(
        memory_analysis=lambda: memory,
        cost_analysis=lambda: [{"flops": -1.0, "bytes accessed": float("nan")}],
        runtime_executable=lambda: SimpleNamespace(hlo_modules=list),
    )
    static = xla_figures.figures(compiled, "gpu", lower_s=0.0, compile_s=0.0)
    assert (static.argument_bytes, static.peak_bytes, static.planned_bytes) == (8, 99, None)
    assert static.generated_code_bytes == 77
    assert set(static.unavailable) == {"output_bytes", "flops", "bytes_accessed", "optimal_s", "program"}
    assert static.unavailable["program"].startswith("jaxlib cannot read the optimised module (")
    nothing = SimpleNamespace(
        memory_analysis=lambda: None, cost_analysis=lambda: None, runtime_executable=list
    )
    assert len(xla_figures.figures(nothing, "tpu", lower_s=0.0, compile_s=0.0).unavailable) == 10


def of_a_tpu(call, **cost):
    """A program that libtpu has counted, with this custom call in its module."""
    graph = Graph(
        f'ENTRY %main () -> f32[] {{\n  ROOT %c = f32[] custom-call(), custom_call_target="{call}"\n}}'
    )
    return device_cost(SimpleNamespace(cost_analysis=lambda: cost), "tpu", OptimisedProgram(None, graph, {}))


def test_a_call_unknown_to_libtpu_does_not_count_minus_one():
    """It counts −1 in each sum; the seconds say how many there are."""
    done = of_a_tpu("Cholesky", flops=98.0, optimal_seconds=-1.9999, **{"bytes accessed": 998.0})
    assert (done.flops, done.bytes_accessed) == (100, 1000)
    assert done.warnings == ["FLOPs and bytes may not include the custom calls Cholesky"]


@pytest.mark.parametrize(
    ("flops", "without"),
    [
        (16_777_215, 16_777_216),  # below 2²⁴ every whole number is a float32
        (16_941_118, 16_941_120),  # 32831 + 16908288 make 16941119, which is none: −1 came before the larger
        (16_941_120, 16_941_120),  # and behind it, where it was rounded away
        (33_587_264, 33_587_264),
        (192_937_984, 192_937_984),  # topk/exact on tpu:v6e, 1024 rows of 8192, k 512
    ],
)
def test_a_minus_one_lost_in_rounding_is_not_added(flops, without):
    """Sums are float32: from 2²⁴ on a −1 is lost in rounding, and XLA's sum cannot be 192937985."""
    cost = {"flops": float(flops), "bytes accessed": float(flops), "optimal_seconds": -0.9997}
    done = of_a_tpu("ConcatBitcast", **cost)
    assert (done.flops, done.bytes_accessed) == (without, without)


def test_an_unreadable_module_loses_only_figures_of_its_text():
    def hlo_modules():
        raise RuntimeError("RET_CHECK failure: async-update\n*** Begin stack trace ***")

    compiled = SimpleNamespace(
        memory_analysis=lambda: SimpleNamespace(temp_size_in_bytes=64),
        cost_analysis=lambda: {"flops": 98.0, "bytes accessed": 998.0, "optimal_seconds": 2e-6},
        runtime_executable=lambda: SimpleNamespace(hlo_modules=hlo_modules),
    )
    static = xla_figures.figures(compiled, "tpu", lower_s=0.0, compile_s=0.0)
    assert (static.flops, static.temp_bytes, static.body_only) == (98, 64, True)
    reason = "jaxlib cannot read the optimised module (RET_CHECK failure: async-update)"
    assert (static.unavailable["program"], static.opcodes) == (reason, {})
    assert static.warnings == (
        "custom calls, collectives and loops are not known, because the module cannot be read",
        "FLOPs and bytes count the body of a loop (the module's text cannot be read) once (body only)",
    )


def test_equal_programs_have_equal_hashes():
    def one(x):
        return x * 2.5 + 1

    def other(renamed):
        doubled = renamed * 2.5
        return doubled + 1

    assert figures_here(one, (100,)).program == figures_here(other, (100,)).program
    assert figures_here(one, (100,)).program != figures_here(one, (101,)).program


def test_constants_are_part_of_a_program():
    table = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    changed = table.copy()
    changed[500] += 1
    programs = [
        figures_here(lambda x: x * 2.5, (1000,)),
        figures_here(lambda x: x * 2.25, (1000,)),
        figures_here(lambda x: x * table, (1000,)),
        figures_here(lambda x: x * changed, (1000,)),
    ]
    assert len({static.program for static in programs}) == 4
    assert not any(static.warnings for static in programs)


def test_constants_too_large_to_hash_give_a_warning():
    table = np.random.default_rng(0).standard_normal(1 << 21).astype(np.float32)
    (warning,) = figures_here(lambda x: x * table, (1 << 21,)).warnings
    assert warning == "the program's hash does not include the values of its large constants"
