"""Stages in compiled programs with few enough operators to count by hand."""

import re
from contextlib import nullcontext

import pytest

from harness.catalog.arrays import Array
from harness.core.stage import stage
from harness.worker.frameworks import base as frameworks
from harness.worker.frameworks.base import TraceLimits
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
    return framework.prepare(function, ("x", "y"), shapes, mode, TraceLimits(0, 0))


def test_marks_change_neither_the_program_nor_its_hash(framework):
    marked, plain = (prepared(framework, mark).static for mark in (stage, lambda _: nullcontext()))
    assert marked.program == plain.program
    assert (marked.flops, marked.bytes_accessed, marked.opcodes) == (
        plain.flops,
        plain.bytes_accessed,
        plain.opcodes,
    )


def test_a_product_without_a_name_counts_for_its_stage_in_every_iteration(framework):
    counts = prepared(framework, stage).program.staged.counts()
    flops = {name: count[1] for name, count in counts.items() if count[1]}
    assert flops == {"selected": TURNS * 2 * 2 * ROWS * SUM * WIDE}
    assert "select" in counts


def test_backward_and_forward_are_separate(framework):
    stages = set(prepared(framework, stage, "fwd_bwd").program.staged.counts())
    assert {"selected", "backward/selected"} <= {part for name in stages for part in name.split(" + ")}


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


def test_products_of_one_size_that_lost_their_names_count_for_all_of_their_stages():
    nameless = re.sub(r", metadata=\{[^}]*\}", "", LOWERED)
    found = StagedProgram(nameless, LOWERED).stages
    assert {found[name] for name in "abc"} == {"attend + gate + score"}
    wider = LOWERED.replace("%c = f32[8,8]", "%c = f32[8,4]")
    found = StagedProgram(re.sub(r", metadata=\{[^}]*\}", "", wider), wider).stages
    assert [found[name] for name in "abc"] == ["gate + score", "gate + score", "attend"]


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
