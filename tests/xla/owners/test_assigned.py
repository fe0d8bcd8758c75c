"""Owners of programs compiled for the host, against XLA's own plan; the lines are this file's."""

import inspect
import linecache
from dataclasses import asdict
from importlib import import_module

import pytest

from harness.catalog import loading
from harness.catalog.build import build
from harness.core.case import Case
from harness.core.paths import PROJECT
from harness.xla import figures as xla_figures
from harness.xla import lowering
from harness.xla.hlo import Graph, jaxlib_hlo
from harness.xla.owners import assigned
from harness.xla.owners.names import Names, instruction_names
from harness.xla.protobuf import encode, message, number_of

pytestmark = pytest.mark.jax

# The line of the largest temporary at the peak, or of the largest result where there is none.
LINES = {
    "mask/broadcast": "keep = (columns == topk_indices[..., None])",
    "mask/scatter": "return shut.at[batch, row, topk_indices].set(0)",
    "mask/scatter_flat": "return shut.at[first + topk_indices].set(0).reshape(w.batch,",
    "mask/threshold_exactk": "return jnp.where(keep,",
    "mask/onehot_gemm": "return (places[..., None] == jnp.arange(count",
    "offsets/mask_quadratic": "mask = jnp.where(allowed(segment_ids_q",
    "offsets/mask_blocked": "pairs = jnp.where(mask, ids[:, :, None], 0)",
    "offsets/bincount": "counts = jax.vmap(partial(jnp.bincount",
    "offsets/segment_min": "met_kv = keys_kv >= minimum(keys_q",
    "offsets/searchsorted": "ascending = jax.lax.cummax(ids)",
}


def owners_here(function, *shapes):
    """The figures of a function of float32 arrays, with owners, compiled for the host."""
    import jax
    import jax.numpy as jnp

    arguments = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    compiled = jax.jit(function).lower(*arguments).compile()
    return xla_figures.figures(compiled, "cpu", lower_s=0, compile_s=0, owners=True)


def test_the_buffers_of_a_peak_add_up_to_the_plan_and_have_their_lines():
    import jax.numpy as jnp

    def pairs(x):
        return (jnp.sort(x, axis=-1)[:, :, None] == x[:, None, :]).any(-1)

    static = owners_here(pairs, (4, 1024))
    owners = static.owners
    assert owners is not None
    assert owners.peak_bytes == static.planned_bytes
    assert owners.exact
    assert sum(owner.bytes for owner in owners.owners) + owners.others[1] == owners.peak_bytes
    assert owners.gap_bytes == 0
    largest = owners.owners[0]
    line = inspect.getsourcelines(pairs)[1] + 1
    assert (largest.bytes, largest.operator, largest.shape) == (4 << 20, "eq", "pred[4,1024,1024]")
    assert largest.source == f"tests/xla/owners/test_assigned.py:{line}"
    assert [(o.name, o.bytes) for o in owners.owners if o.kind == "argument"] == [("x", 4 * 4 * 1024)]


def test_a_loops_carry_is_one_buffer_and_what_a_turn_makes_is_named():
    import jax

    def turns(x):
        return jax.lax.fori_loop(0, 5, lambda _, c: c @ c, x) + x.T

    static = owners_here(turns, (512, 512))
    owners = static.owners
    assert owners is not None
    assert owners.exact
    big = [owner for owner in owners.owners if owner.bytes == 4 * 512 * 512]
    assert sorted(owner.kind for owner in big) == ["argument", "output", "temp"]
    assert {owner.operator for owner in big if owner.kind == "temp"} == {"dot_general"}


def test_where_xla_lists_peaks_of_temporaries_alone_arguments_and_results_have_owners():
    """As jaxlib 0.9.0 does."""
    import jax
    import jax.numpy as jnp

    compiled = (
        jax.jit(lambda x: jnp.sort(x) @ x).lower(jax.ShapeDtypeStruct((512, 512), jnp.float32)).compile()
    )
    (module,) = compiled.runtime_executable().hlo_modules()
    text = module.to_string(jaxlib_hlo().HloPrintOptions())
    whole = compiled.memory_analysis().serialized_buffer_assignment_proto
    blocks = [message(field.value) for field in message(whole) if field.number == assigned.ALLOCATIONS]
    lasting = {
        number_of(block, assigned.INDEX)
        for block in blocks
        if {field.number for field in block} & {assigned.PARAMETER, assigned.LIVE_OUT}
    }
    bare = [
        field
        for field in message(whole)
        if field.number != assigned.PEAKS or number_of(message(field.value), assigned.INDEX) not in lasting
    ]
    assert len(bare) < len(message(whole))
    listed, others = (
        assigned.assigned_owners(each, instruction_names(module), Names(Graph(text), text), 0)
        for each in (whole, encode(bare))
    )
    assert {owner.kind for owner in listed.owners} == {"argument", "output", "temp"}
    assert others == listed


def test_a_plan_without_an_assignment_has_no_owners_and_says_why():
    class Silent:
        def __init__(self, compiled):
            self.compiled = compiled

        def __getattr__(self, name):
            return getattr(self.compiled, name)

        def memory_analysis(self):
            memory = self.compiled.memory_analysis()

            class Memory:
                serialized_buffer_assignment_proto = b""

                def __getattr__(self, name):
                    return getattr(memory, name)

            return Memory()

    import jax
    import jax.numpy as jnp

    compiled = jax.jit(lambda x: x + 1).lower(jax.ShapeDtypeStruct((8,), jnp.float32)).compile()
    static = xla_figures.figures(Silent(compiled), "cpu", lower_s=0, compile_s=0, owners=True)
    assert static.owners is None
    assert static.unavailable["owners"].startswith("the plan's peak has no owners: ")
    assert static.planned_bytes == 64


def figures_of(name, seq, **sizes):
    """The figures of a registered implementation's forward, with owners, compiled for the host."""
    family, _, short = name.partition("/")
    workload = getattr(import_module(f"impls.{family}.family"), f"{family.capitalize()}Workload")
    case = Case.of(name, {}, asdict(workload(seq=seq, **sizes)))
    built = build(loading.load(f"impls.{family}.{short}"), case)
    inputs = lowering.structs({each: built.shapes[each] for each in built.names})
    compiled = lowering.forward(built.function, inputs).lower().compile()
    return xla_figures.figures(compiled, "cpu", lower_s=0, compile_s=0, owners=True)


@pytest.mark.parametrize("seq", [4096, 8192])
@pytest.mark.parametrize("name", LINES)
def test_the_line_of_the_largest_buffer(name, seq):
    """Exact at two lengths, and the largest buffer's line is the one that a reader of the file would say."""
    sizes = {"rows": 32, "topk": 2048} if name.startswith("mask/") else {}
    figures = figures_of(name, seq, batch=1, **sizes)
    assert figures.owners.exact
    made = [owner for owner in figures.owners.owners if owner.kind != "argument"]
    largest = next((owner for owner in made if owner.kind == "temp"), made[0])
    file, _, line = largest.source.rpartition(":")
    assert LINES[name] in linecache.getline(str(PROJECT / file), int(line)), largest
