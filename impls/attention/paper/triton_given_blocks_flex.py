"""The Triton kernel that torch's inductor generates for `given_blocks_flex`, launched directly.

Therefore it can be compiled for an absent GPU, compared with `triton_given_blocks`, and checked in the
interpreter. The mask is made in every call: seq² / block booleans for each key head, and lists of blocks.
"""

from functools import partial

from harness import implementation, stage

from ..workload import AttentionWorkload
from ._block_mask import block_lists, read_blocks, refuse, visible


@implementation(framework="triton", semantics="given_blocks")
def triton_given_blocks_flex(w: AttentionWorkload):
    refuse(w)

    from .._triton_flex_source import Mask, flex_kernel

    read_shape = (w.batch, w.kv_heads, w.seq, -(-w.seq // w.block))
    mask = Mask(partial(visible, w), (w.batch, w.heads), (read_shape,))
    flex = flex_kernel(w, mask, "triton_given_blocks")

    def attend(q, k, v, picks):
        with stage("mask"):
            read = read_blocks(w, picks)
            lists = block_lists(w, read)
        return flex(q, k, v, lists, read)

    return attend
