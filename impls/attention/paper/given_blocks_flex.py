"""The selected branch by torch's FlexAttention: given blocks as its block mask, made in every call.

It visits every block of 128 × 128 pairs of which any is read, while `triton_given_blocks` reads each query's
own blocks. If picks differ from query to query it can skip little. torch 2.13 compiles no kernel in f64, on
the CPU no backward, and nothing without a C++ compiler.
"""

from harness import implementation, stage

from .._flex import compiled_flex
from ..workload import AttentionWorkload
from ._block_mask import BLOCK, block_lists, read_blocks, refuse, visible


@implementation(framework="torch", semantics="given_blocks")
def given_blocks_flex(w: AttentionWorkload):
    from torch.nn.attention.flex_attention import BlockMask

    refuse(w)
    kernel = compiled_flex(w, "attention/given_blocks_gather")

    def attend(q, k, v, picks):
        with stage("mask"):
            read = read_blocks(w, picks)

            def is_visible(batch, head, query, key):
                return visible(w, batch, head, query, key, read)

            lists = block_lists(w, read)
            mask = BlockMask.from_kv_blocks(
                *lists, BLOCK_SIZE=BLOCK, mask_mod=is_visible, seq_lengths=(w.seq, w.seq)
            )
        with stage("attend"):
            return kernel(q, k, v, mask)

    return attend
