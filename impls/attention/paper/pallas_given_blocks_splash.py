"""The selected branch by jax's splash attention for TPUs: given blocks as its mask, made in every call.

A mask that is not known when the kernel is built is stored whole in memory, a boolean for every pair of each
query head, and the grid visits every block of pairs. Blocks that none of their queries reads are not
computed. A query without a pick gets the mean of a block, not zeros; in this family's inputs every query has
a pick.
"""

from typing import Any

from harness import implementation, stage

from .._pallas import refuse, splash_blocks
from .._stage import in_stage
from ..workload import AttentionWorkload


@implementation(framework="pallas", semantics="given_blocks")
def pallas_given_blocks_splash(w: AttentionWorkload, *, block: int = 512):
    import jax
    import jax.numpy as jnp
    from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel as splash

    in_stage(w, "given_blocks")
    refuse(w)
    blocks = splash.BlockSizes(**splash_blocks(w, block))
    count = -(-w.seq // w.block)

    def mask(picks):
        read = jnp.zeros((w.kv_heads, w.seq, count + 1), jnp.bool)
        at = jnp.where(picks < 0, count, picks)
        read = jnp.put_along_axis(read, at, True, axis=-1, inplace=False)
        tokens = jnp.arange(w.seq)
        seen = jnp.repeat(read[..., :-1], w.block, axis=-1)[..., : w.seq] & (tokens <= tokens[:, None])
        return jnp.repeat(seen, w.heads // w.kv_heads, axis=0)

    def attend_one(q, k, v, picks):
        with stage("mask"):
            kernel = splash.make_splash_mha_single_device(mask(picks), block_sizes=blocks)
            # jax 0.10.2 converts this flag to an array, and under jit tests whether it is true.
            kernel.fwd_mask_info = kernel.fwd_mask_info._replace(is_dynamic_mask=True)
        q, k, v = (x.swapaxes(0, 1) for x in (q * w.head_dim**-0.5, k, v))
        with stage("attend"), jax.default_matmul_precision("highest" if w.dtype == "f32" else "default"):
            result: Any = kernel(q, k, v)
        return result.swapaxes(0, 1)

    def attend(q, k, v, picks):
        return jnp.stack([attend_one(*one) for one in zip(q, k, v, picks, strict=True)])

    return attend
