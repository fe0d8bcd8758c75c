"""`select_mean_query` in jax: all tiles at once, in one program with the sort."""

from harness import implementation

from .._stage import in_stage
from ..workload import AttentionWorkload


@implementation(framework="jax", semantics="select")
def select_jax(w: AttentionWorkload):
    import jax.numpy as jnp

    in_stage(w, "select")
    tiles, rest = -(-w.seq // w.tile), -w.seq % w.tile

    def select(q, means):
        padded = jnp.pad(q.astype(means.dtype), ((0, 0), (0, rest), (0, 0), (0, 0)))
        sums = padded.reshape(w.batch, tiles, w.tile, w.kv_heads, -1, w.head_dim).sum(2)
        first = jnp.arange(tiles) * w.tile
        mean = sums / jnp.minimum(w.tile, w.seq - first)[:, None, None, None]
        scores = jnp.einsum("btkgd,bjkd->bkgtj", mean, means, precision="highest")
        later = jnp.arange(0, w.seq, w.block) >= first[:, None] + w.tile
        scores = jnp.where(later, -jnp.inf, scores).reshape(w.batch, w.heads, tiles, -1)
        # sorted: on the CPU XLA counts no FLOPs in a program that calls its TopK
        picks = jnp.argsort(scores, axis=-1, descending=True)[..., : w.selected]
        found = jnp.where(jnp.isneginf(jnp.take_along_axis(scores, picks, -1)), -1, picks)
        return jnp.sort(found, -1).astype(jnp.int32)

    return select
