import pytest

from harness.core.static_figures import Collective
from harness.xla.collectives import collectives, open_ended
from harness.xla.hlo import Graph

PROGRAM = """HloModule sharded, num_partitions=4

%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %ab = f32[] add(%a, %b)
}

%wrapped (q: f32[64]) -> f32[16] {
  %q = f32[64] parameter(0)
  ROOT %scattered = f32[16] reduce-scatter(%q), channel_id=3, dimensions={0}, to_apply=%sum
}

%body (s: (s32[], f32[16])) -> (s32[], f32[16]) {
  %s = (s32[], f32[16]) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  %x = f32[16] get-tuple-element(%s), index=1
  %go = (f32[16], f32[16], u32[], u32[]) collective-permute-start(%x), source_target_pairs={{0,1},{1,0}}
  %came = f32[16] collective-permute-done(%go)
  ROOT %t = (s32[], f32[16]) tuple(%next, %came)
}

%goes_on (c: (s32[], f32[16])) -> pred[] {
  %c = (s32[], f32[16]) parameter(0)
  %j = s32[] get-tuple-element(%c), index=0
  %end = s32[] constant(10)
  ROOT %less = pred[] compare(%j, %end), direction=LT
}

%often (o: f32[16]) -> f32[16] {
  %o = f32[16] parameter(0)
  %o1 = f32[16] all-reduce(%o), to_apply=%sum
  ROOT %o2 = f32[16] all-reduce(%o1), to_apply=%sum
}

%seldom (r: f32[16]) -> f32[16] {
  %r = f32[16] parameter(0)
  ROOT %r1 = f32[16] all-reduce(%r), to_apply=%sum
}

ENTRY %main (p: f32[64], z: s32[], k: pred[]) -> f32[16] {
  %p = f32[64] parameter(0)
  %z = s32[] parameter(1)
  %k = pred[] parameter(2)
  %pair = ((f32[64]), (f32[64], s32[4])) all-gather-start(%p, %z), dimensions={0}
  %gathered = (f32[64], s32[4]) all-gather-done(%pair)
  %whole = f32[64] get-tuple-element(%gathered), index=0
  %begun = ((f32[64]), f32[16], u32[]) async-start(%whole), calls=%wrapped
  %ended = f32[16] async-done(%begun)
  %zero = s32[] constant(0)
  %start = (s32[], f32[16]) tuple(START, %ended)
  %w = (s32[], f32[16]) while(%start), condition=%goes_on, body=%body
  %y = f32[16] get-tuple-element(%w), index=1
  ROOT %end = f32[16] conditional(%k, %y, %y), true_computation=%often, false_computation=%seldom
}
"""


@pytest.mark.parametrize(("start", "turns", "times"), [("%zero", 10, 10), ("%z", None, 1)])
def test_collectives_count_as_often_as_a_device_makes_them(start, turns, times):
    graph = Graph(PROGRAM.replace("START", start))
    assert collectives(graph, {"w": turns}) == (
        Collective("all-gather", 1, 4 * 64 + 4 * 4),
        Collective("all-reduce", 3, 3 * 4 * 16),
        Collective("collective-permute", times, times * 4 * 16),
        Collective("reduce-scatter", 1, 4 * 16),
    )
    assert open_ended(graph, {"w": turns}) is (turns is None)
