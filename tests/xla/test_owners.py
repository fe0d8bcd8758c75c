"""What serialised executables tell of their plan: those written by hand, and those of real compilers."""

import inspect
import json
import sys
from types import SimpleNamespace

import pytest

from harness.catalog.accelerators import missing_compiler
from harness.core.plain_data import from_plain
from harness.core.static_figures import Static
from harness.xla import figures as xla_figures
from harness.xla.owners import (
    Allocation,
    ReportedBuffer,
    TemporariesReport,
    gpu_assignment,
    read_assignment,
    tpu_temporaries,
)
from harness.xla.protobuf import BYTES, VARINT, MessageField, encode, packed_field, varint
from tests.xla.alone import answer_of, figures_here, static_of, structs_on
from tests.xla.test_protobuf import in_blocks, simple

pytestmark = pytest.mark.jax
TARGETS = ("tpu:v5p", "cuda:h200")


def part(number, *fields):
    return MessageField(number, BYTES, encode(fields))


def text(number, words):
    return MessageField(number, BYTES, words.encode())


def count(number, value):
    return MessageField(number, VARINT, varint(value))


def executable(*records):
    """jax's header, and the compiler's file of records in a message."""
    header = b"pjrt_ifrt"
    return varint(len(header)) + header + encode([MessageField(1, BYTES, in_blocks(simple(*records)))])


def buffer(words, sizes, padded):
    return part(4, text(1, words), part(3, count(2, 11), packed_field(3, sizes)), count(4, padded))


def test_a_tpu_s_report_of_hbm():
    temporaries = part(
        3,
        *(count(1, 3), count(2, 8192), count(3, 512)),
        buffer("fusion.1 = fusion(x.1), kind=kLoop", [8, 128], 4096),
        buffer("copy.2 = copy(x.1)", [3], 512),
    )
    vmem = part(1, count(1, 1), part(3, count(1, 3), count(2, 7)))
    hbm = part(1, count(1, 0), part(3, count(1, 5), count(2, 99)), temporaries)
    record = encode([part(1, part(2, part(12, vmem, hbm)))])
    assert tpu_temporaries(executable(b"other", record)) == TemporariesReport(
        8192, (ReportedBuffer("fusion.1", (8, 128), 4096), ReportedBuffer("copy.2", (3,), 512))
    )
    none = encode([part(1, part(2, part(12, part(1, count(1, 0)))))])
    assert tpu_temporaries(executable(none)) == TemporariesReport(0, ())
    with pytest.raises(ValueError, match="the executable has no memory report"):
        tpu_temporaries(executable(encode([part(1, part(2, part(11, vmem)))])))


def assignment():
    """An argument, and two values at one place of a temporary allocation; the second is its peak."""
    values = [part(1, count(1, n), count(2, 64), part(3, count(4, 1 << 32 | n))) for n in (5, 6)]
    inside = [part(9, count(1, n), count(2, 0), count(3, size)) for n, size in ((5, 32), (6, 64))]
    argument = part(3, count(1, 0), count(2, 128), count(5, 1))
    constant = part(3, count(1, 1), count(2, 4), count(12, 1))
    shared = part(3, count(1, 2), count(2, 64), *inside)
    return encode([*values, argument, constant, shared, part(5, count(1, 2), packed_field(2, [6]))])


def test_a_buffer_assignment():
    allocations, made = read_assignment(assignment())
    assert allocations == [Allocation(128, "argument", {}, ()), Allocation(64, "temp", {5: 32, 6: 64}, (6,))]
    assert made == {5: (1 << 32 | 5, ()), 6: (1 << 32 | 6, ())}


def test_a_gpu_s_buffer_assignment_is_found_among_its_records():
    record = encode([part(1, text(1, "module")), MessageField(2, BYTES, assignment())])
    assert gpu_assignment(executable(b"\x7fELF", record)) == assignment()
    with pytest.raises(ValueError, match="no buffer assignment"):
        gpu_assignment(executable(b"\x7fELF"))


@pytest.mark.full
@pytest.mark.parametrize("target", TARGETS)
def test_owners_add_up_to_the_plan_on_absent_targets(pytestconfig, target):
    if reason := missing_compiler(target.partition(":")[0]):
        pytest.skip(reason)
    for name, data in answer_of(pytestconfig.rootpath, __file__, target).items():
        static = from_plain(Static, data)
        assert static.owners is not None, (name, static.unavailable)
        assert static.owners.exact, name
        named = sum(owner.bytes for owner in static.owners.owners)
        total = named + static.owners.others[1] + static.owners.gap_bytes
        assert total == static.planned_bytes, name
        made = [owner for owner in static.owners.owners if owner.kind != "argument"]
        assert made[0].source.startswith("tests/xla/test_owners.py:"), (name, made[0])


# The line of the largest temporary at the peak, or of the largest result where there is none.


def test_the_buffers_of_a_peak_add_up_to_the_plan_and_have_their_lines():
    import jax.numpy as jnp

    def pairs(x):
        return (jnp.sort(x, axis=-1)[:, :, None] == x[:, None, :]).any(-1)

    static = figures_here(pairs, (4, 1024), owners=True)
    owners = static.owners
    assert owners is not None
    assert owners.peak_bytes == static.planned_bytes
    assert owners.exact
    assert sum(owner.bytes for owner in owners.owners) + owners.others[1] == owners.peak_bytes
    assert owners.gap_bytes == 0
    largest = owners.owners[0]
    line = inspect.getsourcelines(pairs)[1] + 1
    assert (largest.bytes, largest.operator, largest.shape) == (4 << 20, "eq", "pred[4,1024,1024]")
    assert largest.source == f"tests/xla/test_owners.py:{line}"
    assert [(o.name, o.bytes) for o in owners.owners if o.kind == "argument"] == [("x", 4 * 4 * 1024)]


def test_a_loops_carry_is_one_buffer_and_buffers_of_an_iteration_are_named():
    import jax

    def turns(x):
        return jax.lax.fori_loop(0, 5, lambda _, c: c @ c, x) + x.T

    static = figures_here(turns, (512, 512), owners=True)
    owners = static.owners
    assert owners is not None
    assert owners.exact
    big = [owner for owner in owners.owners if owner.bytes == 4 * 512 * 512]
    assert sorted(owner.kind for owner in big) == ["argument", "output", "temp"]
    assert {owner.operator for owner in big if owner.kind == "temp"} == {"dot_general"}


def test_a_plan_without_an_assignment_has_no_breakdown_but_a_reason():
    import jax
    import jax.numpy as jnp

    compiled = jax.jit(lambda x: x + 1).lower(jax.ShapeDtypeStruct((8,), jnp.float32)).compile()
    sizes = {"argument": 32, "output": 32, "temp": 0, "alias": 0, "generated_code": 0}
    plan = {f"{name}_size_in_bytes": size for name, size in sizes.items()}
    silent = SimpleNamespace(
        memory_analysis=lambda: SimpleNamespace(**plan, serialized_buffer_assignment_proto=b""),
        cost_analysis=compiled.cost_analysis,
        runtime_executable=compiled.runtime_executable,
    )
    static = xla_figures.figures(silent, "cpu", lower_s=0, compile_s=0, owners=True)
    assert static.owners is None
    assert static.unavailable["owners"].startswith("no buffer breakdown of the planned peak: ")
    assert static.planned_bytes == 64


def programs():
    import jax
    import jax.numpy as jnp

    return {
        "pairs": lambda x: (jnp.sort(x, axis=-1)[:, :, None] == x[:, None, :]).any(-1),
        "loop": lambda x: jax.lax.fori_loop(0, 5, lambda _, c: c @ c, x[0]) + x[1].T,
        "scan": lambda x: jax.lax.map(lambda row: jnp.outer(row[0], row[1]).sum(0), x),
    }


def main(name):
    """Print the figures of the programs for a target, with owners."""
    import jax

    from harness.xla.compiler import target_devices

    (struct,) = structs_on(target_devices(name)[0], (8, 1024, 1024))
    told = {}
    for label, function in programs().items():
        compiled = jax.jit(function, out_shardings=struct.sharding).lower(struct).compile()
        told[label] = static_of(compiled, name.partition(":")[0], owners=True)
    print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1])
