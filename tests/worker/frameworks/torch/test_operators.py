import pytest
import torch

from harness.core.stage import stage
from harness.worker.frameworks.torch.operators import count_stages

pytestmark = pytest.mark.torch


def test_operators_flops_and_bytes_of_every_stage():
    a, b = torch.ones(4, 8), torch.ones(8, 16)

    def call():
        with stage("product"):
            c = a @ b
        with stage("view"):
            d = c.view(-1).unsqueeze(0)
        return d + 1

    counts = {name: tuple(each) for name, each in count_stages(call).items()}
    assert counts["product"] == (1, 2 * 4 * 8 * 16, 4 * (4 * 8 + 8 * 16 + 4 * 16))
    assert counts["view"] == (0, 0, 0), "a view computes and moves nothing"
    assert counts[""] == (1, 0, 2 * 4 * 64)


def test_bytes_are_those_that_an_operator_must_move():
    table, rows = torch.ones(1000, 8), torch.tensor([3, 5])
    wide = torch.ones(4, 1).expand(4, 1000)
    target = torch.empty(2, 8)

    def size(call):
        return count_stages(call)[""].bytes

    assert size(lambda: table.index_select(0, rows)) == 2 * (2 * 8 * 4) + 2 * 8, (
        "what is taken, twice; and rows"
    )
    assert size(lambda: table.new_zeros(4)) == 4 * 4, "the table is only a pattern and is not read"
    assert size(lambda: target.copy_(table[:2])) == 2 * 64, "the overwritten tensor is not read"
    assert size(lambda: torch.add(target, 1, out=target)) == 2 * 64
    assert size(lambda: table.new_empty(4)) == 0
    assert size(wide.sum) == 4 * 4 + 4, "a repeated row counts once"


@pytest.mark.parametrize("mode", ["fwd", "fwd_bwd"])
def test_the_stages_of_a_call_have_the_flops_that_a_trace_counts(mode):
    import numpy as np

    from harness.worker.frameworks.base import TraceLimits
    from harness.worker.frameworks.torch import arrays, binding, trace
    from harness.worker.frameworks.torch.framework import Torch
    from impls.attention.family import FAMILY, AttentionWorkload
    from impls.attention.mslk.nsa_mslk import nsa_mslk

    w = AttentionWorkload(seq=1024, heads=4, head_dim=16, block=16, selected=4, window=70)
    function, names = nsa_mslk(w), ("q", "k", "v", "gates")
    inputs = Torch().put(FAMILY.inputs(w, np.random.default_rng(0)))

    def bind(inputs, cotangent):
        return binding.bind(function, names, mode, inputs, cotangent)

    with torch.set_grad_enabled(mode != "fwd"):
        counted = count_stages(bind(inputs, [torch.ones_like(inputs["q"])]))
        shapes = FAMILY.shapes(w)
        static = trace.figures(
            bind,
            lambda: {name: arrays.empty(shapes[name], torch.device("cpu")) for name in names},
            TraceLimits(60.0, 1 << 40),
        )
    assert {"compress", "select/score", "selected/gather", "window"} < counted.keys()
    assert ("backward" in counted) == (mode == "fwd_bwd")
    assert sum(counts.flops for counts in counted.values()) == static.flops
