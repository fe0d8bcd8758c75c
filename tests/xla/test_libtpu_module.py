"""Modules of serialised executables: written by hand, and of programs that jaxlib reads or refuses.

This file is also the script that compiles those.
"""

import json
import sys

import pytest

from harness.catalog.accelerators import missing_compiler
from harness.core.plain_data import from_plain
from harness.core.static_figures import Static
from harness.xla import libtpu_module
from harness.xla.protobuf import BYTES, VARINT, MessageField, encode, packed_field, varint
from tests.xla.alone import answer_of, static_of, structs_on
from tests.xla.test_figures_foreign import TPU
from tests.xla.test_protobuf import in_blocks, simple

LENGTH = 4096  # of places looked up


def text(number, value):
    return MessageField(number, BYTES, value)


def instruction(own, opcode, operands=(), *more):
    name = f"{opcode}.{own}".encode()
    opcode_, shape = text(2, opcode.encode()), text(3, b"shape of " + name)
    parts = [text(1, name), opcode_, shape, MessageField(35, VARINT, varint(own))]
    return [*parts, *more, *([packed_field(36, operands)] if operands else [])]


def of_module(*instructions, order):
    computation = encode([text(1, b"main"), *(text(2, encode(one)) for one in instructions)])
    sequence = encode([MessageField(1, VARINT, varint(7)), text(2, encode([packed_field(1, order)]))])
    fields = [text(1, b"jit_f"), text(2, b"main"), text(3, computation), text(7, encode([text(1, sequence)]))]
    return encode(fields)


CALLED, LATER = packed_field(38, [9]), MessageField(37, VARINT, varint(2))
START = instruction(1, "async-start", (), CALLED)
PARAMETERS = [instruction(2, "parameter"), instruction(3, "parameter")]


def test_late_operands_go_to_the_start_and_the_start_to_where_they_are():
    """Two updates bring one operand each; a third only goes on."""
    bound = instruction(4, "async-update", (1, 2)), instruction(5, "async-update", (4, 3), LATER)
    others = instruction(6, "async-update", (5,)), instruction(8, "async-done", (6,))
    given = of_module(START, *PARAMETERS, *bound, *others, order=[1, 2, 3, 4, 5, 6, 8])
    start = [text(1, b"async-start.1"), text(2, b"async-start"), CALLED]
    more = [text(3, b"shape of async-update.5"), MessageField(35, VARINT, varint(5)), LATER]
    start += [*more, packed_field(36, [2, 3])]
    bound = of_module(*PARAMETERS, start, *others, order=[2, 3, 5, 6, 8])
    assert libtpu_module.bind_late_operands(given) == bound


def test_a_module_without_late_operands_stays_as_it_is():
    update, done = instruction(4, "async-update", (1,)), instruction(5, "async-done", (4,))
    given = of_module(*PARAMETERS, instruction(1, "async-start", (2, 3)), update, done, order=[2, 3, 1, 4, 5])
    assert libtpu_module.bind_late_operands(given) == given


def test_late_operands_of_no_start_beside_them_are_refused():
    with pytest.raises(ValueError, match="no async-start"):
        libtpu_module.bind_late_operands(
            of_module(*PARAMETERS, instruction(4, "async-update", (1, 2)), order=[2, 3, 4])
        )


def test_the_module_is_that_with_a_configuration():
    module = of_module(*PARAMETERS, order=[2, 3])
    configured = encode([text(2, encode([text(1, module), text(2, b"\x08\x01")]))])
    others = [encode([text(1, b"xla.TpuExecutableProto"), text(2, b"\x12\0")]), encode([text(38, module)])]
    assert libtpu_module.module_proto(in_blocks(simple(*others), simple(configured))) == module
    for wrong in ([simple(*others)], [simple(configured), simple(configured)]):
        with pytest.raises(ValueError, match="modules in the executable"):
            libtpu_module.module_proto(in_blocks(*wrong))


@pytest.fixture(scope="module")
def tpu(pytestconfig):
    if reason := missing_compiler("tpu"):
        pytest.skip(reason)
    return answer_of(pytestconfig.rootpath, __file__, TPU)


@pytest.mark.jax
@pytest.mark.full
def test_a_program_that_jaxlib_refuses_has_all_its_figures(tpu):
    if not tpu["refused"]:
        pytest.skip("jaxlib reads this libtpu's modules as they are")
    static, in_turns = (from_plain(Static, tpu["statics"][name]) for name in ("looked_up", "in_turns"))
    assert (static.body_only, static.collectives) == (False, ())
    assert static.custom_calls
    assert in_turns.flops == pytest.approx(10 * (static.flops + LENGTH), rel=1e-3)  # the ten are summed up
    assert {*static.unavailable, *in_turns.unavailable} == {"optimal_s"}


def main(target):
    import jax

    from harness.xla.compiler import target_devices

    devices = target_devices(target)

    def of(function, *shapes):
        return jax.jit(function).lower(*structs_on(devices[-1], *shapes, dtype="int32")).compile()

    table, places = (1 << 19,), (LENGTH,)
    programs = {
        "looked_up": of(looked_up, table, places),
        "in_turns": of(in_turns, table, (10, *places)),
    }
    try:
        programs["looked_up"].runtime_executable().hlo_modules()
        refused = False
    except RuntimeError:
        refused = True
    statics = {name: static_of(one, "tpu") for name, one in programs.items()}
    print(json.dumps({"statics": statics, "refused": refused}))


def looked_up(table, places):
    return table[places]


def in_turns(table, places):
    import jax

    return jax.lax.scan(lambda total, row: (total + table[row], None), places[0], places)[0]


if __name__ == "__main__":
    main(sys.argv[1])
