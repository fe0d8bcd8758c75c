"""MSLK's native sparse attention in jax: one XLA loop over the tiles, traced once.

As in torch, all queries of a tile share a selection, nothing of size seq × seq exists, and a backward
computes each tile again from its inputs and its selection. Sums are in f32 at least. Here queries are [b,
kv_heads, group, tile, d], keys and values [b, kv_heads, tokens, d].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness import Unsupported, stage

from .._references.attention import refuse
from ..workload import AttentionWorkload


def attention(w: AttentionWorkload) -> Callable[..., Any]:
    """The callable of `nsa_mslk_jax`. Unsupported names the field that its semantics exclude."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    refuse(w)
    if w.varlen:
        raise Unsupported("varlen=true: cu_seqlens is data, XLA's shapes are static; use attention/nsa_mslk")
    tiles, back = -(-w.seq // w.tile), min(w.window, w.seq) - 1
    rest, count = tiles * w.tile - w.seq, min(w.selected, w.seq // w.block)
    starts = range(0, w.seq, w.block)

    def by_tile(x):
        """[b, seq, heads, n] as [tiles, b, kv_heads, group, tile, n]."""
        padded = jnp.pad(x, ((0, 0), (0, rest), (0, 0), (0, 0)))
        split = padded.reshape(w.batch, tiles, w.tile, w.kv_heads, -1, x.shape[-1])
        return split.transpose(1, 0, 3, 4, 2, 5)

    def nsa(q, k, v, gates=None):
        wide = jnp.promote_types(q.dtype, jnp.float32)
        k, v = k.swapaxes(1, 2), v.swapaxes(1, 2)
        blocks = [x.reshape(*x.shape[:2], -1, w.block, w.head_dim) for x in (k, v)]
        with stage("compress"):
            means = [x.astype(wide).mean(3) for x in blocks]
        with stage("window"):
            near = [jnp.pad(x, ((0, 0), (0, 0), (back, rest), (0, 0))) for x in (k, v)]
        scoring, begin = lax.stop_gradient(means[0]), jnp.array(starts)

        def select(at):
            i, query = at
            with stage("score"):
                mean = query.astype(wide).sum(3) / jnp.minimum(w.tile, w.seq - i * w.tile)
                scores = jnp.einsum("bkgd,bkjd->bkgj", mean, scoring, precision="highest") / w.head_dim**0.5
                scores = jnp.where(begin < (i + 1) * w.tile, scores, -jnp.inf)
            # sorted: on the CPU XLA counts no FLOPs in a program that calls its TopK
            picks = jnp.argsort(scores, axis=-1, descending=True)[..., :count]
            return jnp.where(jnp.isneginf(jnp.take_along_axis(scores, picks, -1)), -1, picks)

        @jax.checkpoint
        def attend(at):
            i, query, picks, shares = at
            now = (i * w.tile + jnp.arange(w.tile))[:, None]
            with stage("compressed"):
                coarse = _softmax(query, [x[:, :, None] for x in means], begin <= now)
            with stage("selected"):
                index = jnp.maximum(picks, 0)
                with stage("gather"):
                    chosen = [jax.vmap(jax.vmap(lambda x, j: x[j]))(x, index) for x in blocks]
                    chosen = [x.reshape(*picks.shape[:3], -1, w.head_dim) for x in chosen]
                with stage("mask"):
                    token = index[..., None] * w.block + jnp.arange(w.block)
                    token = token.reshape(*picks.shape[:3], 1, -1)
                    real = jnp.repeat(picks >= 0, w.block, -1)[..., None, :]
                    visible = real & (token <= now)
                fine = _softmax(query, chosen, visible)
            with stage("window"):
                with stage("gather"):
                    size = w.tile + back
                    spans = [lax.dynamic_slice_in_dim(x, i * w.tile, size, 2)[:, :, None] for x in near]
                with stage("mask"):
                    token = i * w.tile - back + jnp.arange(w.tile + back)
                    visible = (token >= 0) & (token <= now) & (token > now - w.window)
                recent = _softmax(query, spans, visible)
            with stage("gate"):
                if shares is None:
                    return ((coarse + fine + recent) / 3).astype(q.dtype)
                a, b, c = jnp.split(shares.astype(wide), 3, -1)
                return (a * coarse + b * fine + c * recent).astype(q.dtype)

        order, queries = jnp.arange(tiles), by_tile(q)
        with stage("select"):
            picks = lax.map(select, (order, lax.stop_gradient(queries)))
        shares = None if gates is None else by_tile(gates)
        result = lax.map(attend, (order, queries, picks, shares))
        return result.transpose(1, 0, 4, 2, 3, 5).reshape(w.batch, -1, w.heads, w.head_dim)[:, : w.seq]

    return nsa


def _softmax(q: Any, pair: list[Any], visible: Any) -> Any:
    """softmax(q·k/√d)·v over visible keys; 0 for a query that sees none; `pair` is k and v."""
    import jax.numpy as jnp
    from jax import lax

    wide = jnp.promote_types(q.dtype, jnp.float32)
    q, k, v = (x.astype(wide) for x in (q, *pair))
    k, v = (jnp.broadcast_to(x, (*q.shape[:3], *x.shape[3:])) for x in (k, v))
    scores = jnp.einsum("bkgtd,bkgsd->bkgts", q, k, precision="highest") / q.shape[-1] ** 0.5
    scores = jnp.where(visible, scores, -jnp.inf)
    # The shift cancels, so it needs no gradient; if nothing is visible −inf − (−inf) would be NaN.
    highest = lax.stop_gradient(scores.max(-1, keepdims=True))
    weights = jnp.exp(scores - jnp.where(jnp.isneginf(highest), 0, highest))
    total = weights.sum(-1, keepdims=True)
    weights = weights / jnp.where(total > 0, total, 1)
    return jnp.einsum("bkgts,bkgsd->bkgtd", weights, v, precision="highest")
