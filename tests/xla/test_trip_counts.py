import pytest

from harness.xla.hlo import Graph
from harness.xla.trip_counts import count_trips, trip_count


@pytest.mark.parametrize(("first", "added"), [(0, 1), (1, 3), (50, -2), (7, 0), (-4, 5)])
@pytest.mark.parametrize("bound", [-9, 0, 5, 8, 50])
@pytest.mark.parametrize(("direction", "holds"), [("LT", int.__lt__), ("LE", int.__le__)])
def test_trip_counts_equal_counting(first, added, direction, holds, bound):
    counted = next((turn for turn in range(1000) if not holds(first + added * turn, bound)), None)
    assert trip_count(first, added, direction, bound) == counted


LOOP = """HloModule loop

%adding (n: s32[]) -> s32[] {{
  %n = s32[] parameter(0)
  %three = s32[] constant(3)
  ROOT %more = s32[] add(%three, %n)
}}

%body (b: (s32[], f32[8], s32[])) -> (s32[], f32[8], s32[]) {{
  %b = (s32[]{{:T(128)}}, f32[8]{{0:T(128)}}, s32[]) parameter(0)
  %i = s32[] get-tuple-element(%b), index=0
  %next = s32[] fusion(%i), kind=kLoop, calls=%adding
  %x = f32[8] get-tuple-element(%b), index=1
  %y = f32[8] add(%x, %x)
  %last = s32[] get-tuple-element(%b), index=2
  ROOT %t = (s32[], f32[8], s32[]) tuple(%next, %y, {carried})
}}

%goes_on (c: (s32[], f32[8], s32[])) -> pred[] {{
  %c = (s32[], f32[8], s32[]) parameter(0)
  %j = s32[] get-tuple-element(%c), index=0
  %end = s32[] get-tuple-element(%c), index=2
  ROOT %less = pred[] compare(%end, %j), direction=GT
}}

ENTRY %main (p: f32[8], d: s32[]) -> f32[8] {{
  %p = f32[8]{{0}} parameter(0)
  %d = s32[] parameter(1)
  %one = s32[] constant(1)
  %start = s32[] copy(%one)
  %limit = s32[]{{:S(2)}} constant(100)
  %copy-start = (s32[], s32[], u32[]) copy-start(%limit)
  %copy-done = s32[] copy-done(%copy-start)
  %all = (s32[], f32[8], /*index=2*/s32[]) tuple(%start, %p, {bound})
  %w = (s32[], f32[8], s32[]) while(%all), condition=%goes_on, body=%body{config}
  ROOT %r = f32[8] get-tuple-element(%w), index=1
}}
"""


@pytest.mark.parametrize(
    ("changes", "length"),
    [
        ({}, 33),
        ({"config": ', backend_config={"known_trip_count":{"n":"12"}}'}, 12),
        ({"bound": "%d"}, None),  # an argument of the program
        ({"carried": "%next"}, None),  # the bound moves
    ],
)
def test_a_trip_count_is_from_the_compiler_or_from_constants(changes, length):
    text = LOOP.format(**{"config": "", "bound": "%copy-done", "carried": "%last", **changes})
    assert count_trips(Graph(text)) == {"w": length}


def test_a_text_that_cannot_be_read_is_refused():
    with pytest.raises(ValueError, match="the module has no entry computation"):
        Graph("HloModule nothing")
    with pytest.raises(ValueError, match="not an instruction:   garbled"):
        Graph("ENTRY %main () -> s32[] {\n  garbled\n}\n")
