"""The indexer's scores in jax, for one device or for a partitioner to split."""

from __future__ import annotations

from typing import Any

from ..workload import TopkWorkload


def index_scores(w: TopkWorkload, queries: Any, keys: Any, weights: Any) -> Any:
    """Scores [batch, rows, seq] in f32 or better, one head at a time, summed in a loop.

    XLA does not fuse the ReLU and the sum over heads with a product: all heads at once would be `heads` times
    the result. When 64 products in a row were written without a loop, all of them were planned in memory at
    once (32 GiB at 1024 rows of 131072 on a v5p). Products are in full precision: f32 stays f32 while a TPU
    would round to bf16.
    """
    import jax
    import jax.numpy as jnp
    from jax import lax

    wide = jnp.promote_types(queries.dtype, jnp.float32)
    keys = _whole(keys)
    scaled = weights.astype(wide) * (w.heads * w.head_dim) ** -0.5

    def add(total, head):
        query, weight = head
        liked = jnp.einsum("brd,bsd->brs", query, keys, precision="highest", preferred_element_type=wide)
        return total + weight[..., None] * jax.nn.relu(liked), None

    heads = (jnp.moveaxis(queries, 2, 0), jnp.moveaxis(scaled, 2, 0))
    return lax.scan(add, jnp.zeros((w.batch, w.rows, w.seq), wide), heads)[0]


def _whole(keys: Any) -> Any:
    """Gather the keys on every device before the loop; the partitioner would gather them inside it."""
    import jax
    from jax import lax
    from jax.sharding import NamedSharding, PartitionSpec

    mesh = jax.typeof(keys).sharding.mesh
    if mesh.empty:
        return keys
    return lax.with_sharding_constraint(keys, NamedSharding(mesh, PartitionSpec()))
