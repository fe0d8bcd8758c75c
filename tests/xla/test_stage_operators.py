"""Stages in compiled programs, whose operators are few enough to be counted by hand."""

import re
from contextlib import nullcontext

import pytest

from harness.catalog.arrays import Array
from harness.core.errors import Unsupported
from harness.core.stage import stage
from harness.worker.frameworks import base as frameworks
from harness.worker.frameworks.base import Patience
from harness.xla.hlo import Graph
from harness.xla.products import Products
from harness.xla.stage_operators import StagedProgram

pytestmark = pytest.mark.jax

TURNS, ROWS, WIDE, SUM = 4, 32, 16, 64


@pytest.fixture(scope="module")
def framework():
    jax = frameworks.get("jax")
    jax.start("cpu", 1, wide=False)
    return jax


def prepared(framework, mark, mode="fwd"):
    """A loop of products over batches, for which XLA drops their names, and a sort."""
    import jax
    import jax.numpy as jnp

    def function(x, y):
        def turn(rows):
            with mark("selected"):
                with mark("mask"):
                    rows = jnp.where(rows > 0, rows, 0)
                return jnp.einsum("abij,abjk->abik", rows, y, precision="highest")

        with mark("select"):
            order = jnp.sort(x[0, 0, 0, :, 0])
        return jax.lax.map(turn, x), order

    shapes = {"x": Array((TURNS, 1, 2, ROWS, SUM), "f32"), "y": Array((1, 2, SUM, WIDE), "f32")}
    return framework.prepare(function, ("x", "y"), shapes, mode, Patience(0, 0))


def test_marks_change_neither_the_program_nor_its_hash(framework):
    marked, plain = (prepared(framework, mark).static for mark in (stage, lambda _: nullcontext()))
    assert marked.program == plain.program
    assert (marked.flops, marked.bytes_accessed, marked.opcodes) == (
        plain.flops,
        plain.bytes_accessed,
        plain.opcodes,
    )


def test_a_product_whose_name_xla_drops_counts_for_its_stage_in_every_turn(framework):
    counts = prepared(framework, stage).program.staged.counts()
    flops = {name: count[1] for name, count in counts.items() if count[1]}
    assert flops == {"selected": TURNS * 2 * 2 * ROWS * SUM * WIDE}
    assert "select" in counts


def test_a_backward_is_told_from_its_forward(framework):
    stages = set(prepared(framework, stage, "fwd_bwd").program.staged.counts())
    assert {"selected", "backward/selected"} <= {part for name in stages for part in name.split(" + ")}


def test_a_trace_without_operators_is_a_sentence(monkeypatch):
    import jax

    from harness.worker.frameworks.jax import trace

    monkeypatch.setattr(jax.profiler, "start_trace", lambda *_, **__: None)
    monkeypatch.setattr(jax.profiler, "stop_trace", lambda: None)
    monkeypatch.setattr(trace, "_runs", lambda _: [])
    with pytest.raises(Unsupported, match="names no operator here"):
        trace.trace_call(lambda: None, lambda _: None)


def test_products_of_one_size_are_told_apart_by_what_they_depend_on(framework):
    """As many queries as a key is wide: scores and values are products of one size, and lose their names."""
    import jax
    import jax.numpy as jnp

    def function(x, y):
        with stage("scores"):
            scores = jnp.einsum("abij,abjk->abik", x, y, precision="highest")
        weights = jax.nn.softmax(scores)
        with stage("values"):
            return jnp.einsum("abij,abjk->abik", weights, y, precision="highest")

    shapes = {"x": Array((1, 2, ROWS, SUM), "f32"), "y": Array((1, 2, SUM, SUM), "f32")}
    counts = framework.prepare(function, ("x", "y"), shapes, "fwd", Patience(0, 0)).program.staged.counts()
    flops = {name: count[1] for name, count in counts.items() if count[1]}
    assert flops == dict.fromkeys(("scores", "values"), 2 * 2 * ROWS * SUM * SUM)


LOWERED = """HloModule m

ENTRY %e (x: f32[8,8], y: f32[8,8]) -> (f32[8,8], f32[8,8]) {
  %x = f32[8,8] parameter(0)
  %y = f32[8,8] parameter(1)
  %a = f32[8,8] dot(%x, %y), lhs_contracting_dims={1}, metadata={op_name="jit(f)/stage:score/dot"}
  %b = f32[8,8] dot(%y, %x), lhs_contracting_dims={1}, metadata={op_name="jit(f)/stage:gate/dot"}
  %c = f32[8,8] dot(%b, %x), lhs_contracting_dims={1}, metadata={op_name="jit(f)/stage:attend/dot"}
  ROOT %t = (f32[8,8], f32[8,8]) tuple(%a, %c)
}
"""


def test_what_no_dependence_tells_apart_is_several_stages():
    """a depends on no product and none on it, b comes before c; where c depends on none all are alike."""
    nameless = re.sub(r", metadata=\{[^}]*\}", "", LOWERED)
    found = StagedProgram(nameless, LOWERED).stages
    assert [found[name] for name in "abc"] == ["score", "gate", "attend"]
    alike = nameless.replace("dot(%b, %x)", "dot(%y, %x)")
    twins = StagedProgram(alike, LOWERED.replace("dot(%b, %x)", "dot(%y, %x)")).stages
    assert {twins[name] for name in "abc"} == {"attend + gate + score"}


BARRED = """HloModule m

ENTRY %e (x: f32[8,8], y: f32[8,8]) -> f32[8,8] {
  %x = f32[8,8] parameter(0)
  %y = f32[8,8] parameter(1)
  %a = f32[8,8] dot(%x, %y), lhs_contracting_dims={1}, metadata={op_name="jit(f)/stage:score/dot"}
  %t = (f32[8,8], f32[8,8]) tuple(%x, %a)
  %o = (f32[8,8], f32[8,8]) opt-barrier(%t)
  %z = f32[8,8] get-tuple-element(%o), index=0
  %b = f32[8,8] dot(%z, %y), lhs_contracting_dims={1}, metadata={op_name="jit(f)/stage:gate/dot"}
  ROOT %c = f32[8,8] dot(%b, %z), lhs_contracting_dims={1}, metadata={op_name="jit(f)/stage:attend/dot"}
}
"""


def test_a_barrier_makes_nothing_depend_on_what_passes_it_beside():
    """What a backward computes again stands behind a barrier, which XLA takes away."""
    assert [sorted(each.before) for each in Products(Graph(BARRED), lambda _: ()).products] == [[], [], [1]]


@pytest.mark.parametrize(
    ("names", "stage"),
    [
        (("transpose(jvp())/sub", "transpose(jvp())/stage:window/mul"), "backward/window"),
        (("transpose(jvp())/sub", "stage:window/mul"), "backward + window"),
        (("sub", "stage:window/mul"), "window"),
        (("transpose(jvp())/sub", "mul"), "backward"),
    ],
)
def test_unmarked_code_in_a_fusion_counts_for_the_stage_that_is_fused_with_it(names, stage):
    one, other = names
    text = f"""HloModule m

%fused (x: f32[8]) -> f32[8] {{
  %x = f32[8] parameter(0)
  %s = f32[8] subtract(%x, %x), metadata={{op_name="jit(f)/{one}"}}
  ROOT %m = f32[8] multiply(%s, %x), metadata={{op_name="jit(f)/{other}"}}
}}

ENTRY %e (y: f32[8]) -> f32[8] {{
  %y = f32[8] parameter(0)
  ROOT %f = f32[8] fusion(%y), kind=kLoop, calls=%fused
}}
"""
    assert StagedProgram(text, text).stages["f"] == stage
