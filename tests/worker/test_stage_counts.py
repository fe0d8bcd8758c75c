import pytest

from harness.core.stage import stage

pytestmark = pytest.mark.torch


def test_operators_flops_and_bytes_of_every_stage():
    import torch

    from harness.worker.frameworks.torch_stage_counts import count_stages

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


def test_attention_counts_the_pairs_that_a_causal_mask_leaves():
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    from harness.worker.frameworks.torch_stage_counts import count_stages

    q = torch.ones(1, 2, 64, 16)

    def call(causal):
        with torch.no_grad(), stage("attend"):
            return scaled_dot_product_attention(q, q, q, is_causal=causal)

    whole, causal = (count_stages(lambda c=c: call(c))["attend"].flops for c in (False, True))
    assert whole == 2 * 2 * 2 * 64 * 64 * 16
    assert causal < 0.6 * whole
