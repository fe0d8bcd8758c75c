import pytest

from tests.xla.alone import figures_here
from tests.xla.test_figures_foreign import ONCE, by_threes, nested, scanned, step, unknown

pytestmark = pytest.mark.jax

jax = pytest.importorskip("jax")
N = 64
PRODUCT = 2 * N**3
COUNTER = 2  # FLOPs of a turn: the counter and its comparison


def figures(function):
    return figures_here(function, (N, N), (N, N))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (scanned, 50 * (PRODUCT + COUNTER)),
        (nested, 5 * (7 * (PRODUCT + COUNTER) + COUNTER)),
        (by_threes, 33 * (PRODUCT + COUNTER)),
    ],
)
def test_a_loop_body_counts_once_per_iteration(function, expected):
    static = figures(function)
    assert static.flops == expected
    assert (static.flops_source, static.body_only, static.warnings) == ("optimised_module", False, ())


def test_the_bytes_of_a_loop_are_those_of_a_body_times_iterations():
    by_length = {length: figures(lambda x, w, n=length: scanned(x, w, n)) for length in (10, 30, 50)}
    per_turn = (by_length[30].bytes_accessed - by_length[10].bytes_accessed) / 20
    assert by_length[50].bytes_accessed - by_length[30].bytes_accessed == 20 * per_turn
    # The product reads two matrices and writes one, tanh reads and writes one; counters are a few bytes.
    assert 5 * 4 * N * N < per_turn < 5 * 4 * N * N + 128
    assert by_length[10].temp_bytes == by_length[50].temp_bytes


def test_a_loop_in_a_branch_counts_its_body_once():
    def either(x, w):
        return jax.lax.cond(x[0, 0] > 0, lambda x: -x, lambda x: scanned(x, w, 9), x)

    static = figures(either)
    assert static.flops == pytest.approx(PRODUCT, rel=1e-3)
    loop = "the body of a loop in a conditional"
    assert static.warnings == (f"FLOPs and bytes count {loop} once (body only)",)


def test_a_loop_of_unknown_length_counts_its_body_once():
    static = figures(unknown)
    assert static.flops == PRODUCT + 1
    assert (static.flops_source, static.body_only) == ("compiled", True)
    assert static.warnings == (ONCE,)


def test_a_known_loop_around_an_unknown_one_still_counts():
    def triangle(x, w):
        return jax.lax.fori_loop(0, 8, lambda i, c: jax.lax.fori_loop(0, i, lambda _, c: step(c, w), c), x)

    static = figures(triangle)
    assert static.flops == 8 * (PRODUCT + 2 * COUNTER)
    assert (static.body_only, static.warnings) == (True, (ONCE,))


LOOP = """HloModule loop

%fused (f: f32[8]) -> f32[8] {
  %f = f32[8]{0} parameter(0)
  %part = f32[8]{0} custom-call(%f), custom_call_target="PartialReduce"
  ROOT %g = f32[8]{0} negate(%part)
}

%body (b: f32[8]) -> f32[8] {
  %b = f32[8]{0} parameter(0)
  INSIDE
  ROOT %y = f32[8]{0} add(%b, %b)
}

%goes_on (c: f32[8]) -> pred[] {
  %c = f32[8]{0} parameter(0)
  ROOT %true = pred[] constant(true)
}

ENTRY %main (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  ROOT %w = f32[8]{0} while(%p), condition=%goes_on, body=%body
}
"""


@pytest.mark.parametrize(
    ("inside", "reasons", "flops", "size"),
    [
        ("%n = f32[8]{0} negate(%b)", set(), 4 * 16, 4 * (2 + 3) * 32),
        ('%n = f32[8]{0} custom-call(), custom_call_target="AllocateBuffer"', set(), 4 * 8, 4 * 3 * 32),
        ('%n = f32[8]{0} custom-call(%b), custom_call_target="PartialReduce"', set(), 4 * 8, 4 * 3 * 32),
        (
            '%n = f32[8]{0} custom-call(%b), custom_call_target="TopK"',
            {"the custom call TopK in a loop"},
            4 * 8,
            4 * 3 * 32,
        ),
        ("%n = f32[8]{0} fusion(%b), kind=kCustom, calls=%fused", set(), 4 * (8 + 8), 4 * (2 + 3) * 32),
        ("%n = f32[8]{0} newfangled(%b)", {"the body of a loop (its analysis failed"}, 0, 0),
    ],
)
def test_the_cost_of_further_iterations(inside, reasons, flops, size):
    from harness.xla.cost_analysis import added_cost
    from harness.xla.hlo import Graph

    added = added_cost(Graph(LOOP.replace("INSIDE", inside)), {"w": 5})
    assert {reason.partition(":")[0] for reason in added.once} == reasons
    assert added.counts == {"flops": flops, "bytes_accessed": size}
