"""Native sparse attention in Triton, interpreted: groups of heads, odd lengths, both ways of a backward."""

import pytest

from tests.impls.interpreted import KERNELS, assert_right, interpret

pytestmark = KERNELS
SMALL = {"dtype": "f32,bf16", "head_dim": "24", "window": "21", "heads": "2", "kv_heads": "1"}


def judge(folder, name, seq, *words, cases=2, **axes):
    assert_right(interpret(folder, "attention", name, seq, *words, **SMALL, **axes), cases)


@pytest.mark.full
def test_mslks_form(tmp_path):
    """A tile that is cut, blocks that no tile of keys divides, and a list that is no power of two."""
    judge(tmp_path, "triton_nsa", "72", "--mode", "fwd_bwd", tile="48", block="24", selected="3")


@pytest.mark.full
def test_the_papers_form(tmp_path):
    judge(tmp_path, "triton_nsa_paper", "29", "--mode", "fwd_bwd", block="8", selected="3")
