"""A backward, through real processes: judged against the reference's, in every mode."""

from pathlib import Path

import pytest

from harness.catalog.loading import load
from harness.core.errors import Unsupported

PLUGIN = Path(__file__).parent / "gradients_plugin.py"
OUTCOMES = load(str(PLUGIN)).OUTCOMES
pytestmark = [pytest.mark.torch, pytest.mark.jax]


@pytest.fixture(scope="module", params=["bwd", "fwd_bwd"])
def backward(group_of, request):
    return group_of("plain", "torch", "blend/in_torch", PLUGIN, workload={"seq": 40}, mode=request.param)


@pytest.mark.parametrize("name", OUTCOMES)
def test_gradients_are_held_to_their_contract(backward, name):
    status, says = OUTCOMES[name]
    framework = vars(load(str(PLUGIN)))[name].framework
    ended, sentence = backward.outcome(backward.spawn(framework, f"blend/{name}", PLUGIN))
    assert (ended, says in sentence) == (status, True), sentence


def test_the_forward_alone_needs_no_cotangent(group_of):
    group = group_of("plain", "torch", "blend/in_torch", PLUGIN, workload={"seq": 8})
    for framework, name in (("torch", "cuts_in_torch"), ("jax", "in_jax")):
        assert group.outcome(group.spawn(framework, f"blend/{name}", PLUGIN)) == ("ok", "")


def test_a_family_without_a_backward_refuses_it(group_of):
    with pytest.raises(Unsupported, match="semantics exact has no backward; use mode fwd"):
        group_of("exact", "numpy", "topk/exact", "impls.topk.family", mode="bwd")
