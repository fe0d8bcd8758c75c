"""What libtpu expects operators to weigh, read from a small module as libtpu 0.0.52 writes one."""

import pytest

from harness.core.paths import PROJECT
from harness.core.static_figures import OperatorWeight
from harness.xla.operator_weights import heaviest_operators, weights

CONFIG = 'backend_config={{"window_config":{{"estimated_cycles":"{}","iteration_bounds":["1"]}}}}'
MODULE = """HloModule jit_mask, is_scheduled=true

FileNames
1 "/usr/lib/python3/site-packages/mine/run.py"
2 "%ROOT%/impls/mask/broadcast.py"
3 "%ROOT%/.venv/lib/site-packages/other/layer.py"
4 "/home/somebody/plugin.py"

FunctionNames
1 "<module>"
2 "broadcast.<locals>.mask"

FileLocations
1 {file_name_id=1 function_name_id=1 line=8 end_line=8 column=6 end_column=55}
2 {file_name_id=2 function_name_id=2 line=22 end_line=23 column=15 end_column=64}
3 {file_name_id=3 function_name_id=2 line=7 end_line=7 column=1 end_column=2}
4 {file_name_id=4 function_name_id=2 line=5 end_line=5 column=1 end_column=2}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=1}
3 {file_location_id=3 parent_frame_id=1}
4 {file_location_id=4 parent_frame_id=1}


%inside (p: s32[8]) -> s32[8] {
  %p = s32[8]{0:T(128)} parameter(0)
  %twice = s32[8]{0:T(128)} add(%p, %p), metadata={op_name="jit(mask)/add" stack_frame_id=4}, %200%
  ROOT %out = s32[8]{0:T(128)} bitcast(%twice), metadata={op_name="jit(mask)/add" stack_frame_id=4}
}

%body (b: (s32[], s32[8])) -> (s32[], s32[8]) {
  %b = (s32[]{:T(128)}, s32[8]{0:T(128)}) parameter(0)
  %i = s32[]{:T(128)} get-tuple-element(%b), index=0
  %one = s32[]{:T(128)} constant(1)
  %next = s32[]{:T(128)} add(%i, %one), metadata={op_name="jit(mask)/while/add"}, %10%
  %x = s32[8]{0:T(128)} get-tuple-element(%b), index=1
  %y = s32[8]{0:T(128)} negate(%x), metadata={op_name="jit(mask)/while/neg" stack_frame_id=3}, %60%
  ROOT %t = (s32[]{:T(128)}, s32[8]{0:T(128)}) tuple(%next, %y)
}

%goes_on (c: (s32[], s32[8])) -> pred[] {
  %c = (s32[]{:T(128)}, s32[8]{0:T(128)}) parameter(0)
  %j = s32[]{:T(128)} get-tuple-element(%c), index=0
  %end = s32[]{:T(128)} constant(10)
  ROOT %less = pred[]{:T(512)} compare(%j, %end), direction=LT
}

ENTRY %main (a: s32[8]) -> s32[8] {
  %a = s32[8]{0:T(128)} parameter(0), metadata={op_name="a"}
  %first = s32[8]{0:T(128)} fusion(%a), kind=kLoop, calls=%inside, %300%
  %zero = s32[]{:T(128)} constant(0)
  %copy-start = (s32[8]{0:T(128)S(1)}, s32[8]{0:T(128)}, u32[]{:S(2)}) copy-start(%first)
  %copy-done = s32[8]{0:T(128)S(1)} copy-done(%copy-start)
  %before = (s32[]{:T(128)}, s32[8]{0:T(128)}) tuple(%zero, %copy-done)
  %loop = (s32[]{:T(128)}, s32[8]{0:T(128)}) while(%before), condition=%goes_on, body=%body
  %last = s32[8]{0:T(128)} get-tuple-element(%loop), index=1
  %order = s32[8]{0:T(128)} sort(%last), dimensions={0}, to_apply=%goes_on, %0%
  ROOT %mask = s32[8]{0:T(128)} not(%order), metadata={op_name="jit(mask)/eq" stack_frame_id=2}, %100%
}
"""


def module():
    text = MODULE.replace("%ROOT%", str(PROJECT))
    for cycles in (0, 10, 60, 100, 200, 300):
        text = text.replace(f"%{cycles}%", CONFIG.format(cycles))
    return text


def test_the_heaviest_come_first_with_the_line_that_they_are_from():
    """A fusion without a line has its inside's; outside of the repository a file's name is all."""
    heaviest, counts = heaviest_operators(module(), {"loop": 10})
    assert heaviest == (
        OperatorWeight("y", "negate", "layer.py:7", 60, 10, pytest.approx(600 / 1100)),
        OperatorWeight("first", "fusion", "plugin.py:5", 300, 1, pytest.approx(300 / 1100)),
        OperatorWeight("mask", "not", "impls/mask/broadcast.py:22", 100, 1, pytest.approx(100 / 1100)),
        OperatorWeight("next", "add", "", 10, 10, pytest.approx(100 / 1100)),
    )
    assert counts == (4, 6)  # neither the sort, whose estimate is 0, nor the copy has one


def test_no_path_of_a_machine_is_kept():
    heaviest, _ = heaviest_operators(module(), {"loop": 10})
    assert not any(one.source.startswith(("/", ".")) or "somebody" in one.source for one in heaviest)


def test_a_loop_of_unknown_length_counts_once():
    heaviest, counts = heaviest_operators(module(), {"loop": None})
    turns = [(one.operator, one.turns) for one in heaviest]
    assert turns == [("first", 1), ("mask", 1), ("y", None), ("next", None)]
    assert (sum(one.share for one in heaviest), counts) == (pytest.approx(1), (4, 6))


def test_no_more_than_eight_are_kept_and_all_are_counted():
    lines = [f"  %n{at} = s32[8] negate(%a), {CONFIG.format(at + 1)}" for at in range(20)]
    text = "\n".join(["HloModule m", "", "ENTRY %m (a: s32[8]) -> s32[8] {", *lines, "}"])
    heaviest, counts = heaviest_operators(text, {})
    assert [one.operator for one in heaviest] == [f"n{at}" for at in range(19, 11, -1)]
    assert counts == (20, 20)
    assert heaviest[0].share == pytest.approx(20 / 210)


@pytest.mark.parametrize("modules", [[], [object()], [object(), object()]])
def test_what_cannot_be_read_has_no_weights(modules):
    assert weights(modules, {}) == ((), (0, 0))
