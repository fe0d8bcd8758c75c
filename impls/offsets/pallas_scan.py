"""Segment offsets in one Pallas kernel: two scans over both rows, with a table of segments in VMEM.

The first scan finds each segment's least query and largest key. The second counts the tokens that reach them
and records where runs begin, by ranks that it carries from block to block. Every token is compared with all
slots of the table, so work grows with max_segments. The table is padded to whole registers: for 16 segments
it has 24 slots. Larger ids are lost, while the definition records the runs that they begin. No layout has
larger ids, and the family's checks have at most six. Under `bottom_right` jax first computes the lengths of
runs.
"""

from harness import Unsupported, implementation

from ._lengths import left_in_run
from .workload import OffsetsWorkload

SUBLANES, LANES = 8, 128  # columns of a register


@implementation(framework="pallas", semantics="exact")
def pallas_scan(w: OffsetsWorkload, *, block: int = 512):
    import jax
    import jax.numpy as jnp
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    if w.kind == "sliding":
        raise Unsupported("kind=sliding: segments' extremes do not decide a sliding window; use kind=causal")
    if block < LANES or block % LANES:
        raise Unsupported(f"block={block} is not a multiple of a register's {LANES} lanes; use a multiple")
    places = -(-(w.max_segments + 1) // SUBLANES) * SUBLANES  # one more for offsets, in whole registers
    limits = jnp.iinfo(jnp.int32)

    def scan(q, keys_q, kv, keys_kv, length_q, offset_q, length_kv, offset_kv, least, largest, carried):
        place = jax.lax.broadcasted_iota(jnp.int32, (places, 1), 0)
        lane = jax.lax.broadcasted_iota(jnp.int32, (1, block), 1)
        token = pl.program_id(2) * block + lane
        ids_q, ids_kv = jnp.where(token < w.seq, q[...], 0), jnp.where(token < w.keys, kv[...], 0)
        in_q, in_kv = ids_q == place + 1, ids_kv == place + 1

        @pl.when((pl.program_id(1) == 0) & (pl.program_id(2) == 0))
        def _():
            least[...] = jnp.full(least.shape, limits.max)
            largest[...] = jnp.full(largest.shape, limits.min)
            for lengths, offsets in ((length_q, offset_q), (length_kv, offset_kv)):
                lengths[...] = jnp.zeros(lengths.shape, jnp.int32)
                offsets[...] = jnp.full(offsets.shape, -1)
            for number in range(4):
                carried[number] = 0

        @pl.when(pl.program_id(1) == 0)
        def _():
            first = jnp.where(in_q, keys_q[...], limits.max).min(axis=1, keepdims=True)
            last = jnp.where(in_kv, keys_kv[...], limits.min).max(axis=1, keepdims=True)
            least[...] = jnp.minimum(least[...], first)
            largest[...] = jnp.maximum(largest[...], last)

        def count(kept, lengths, offsets, before):
            lengths[...] += (kept == place + 1).astype(jnp.int32).sum(axis=1, keepdims=True)
            left = jnp.where(lane == 0, carried[before], pltpu.roll(kept, 1, 1))
            starts = (kept != 0) & (kept != left)
            until = (lane <= lane.reshape(block, 1)).astype(jnp.float32)
            rank = carried[before + 1] - 1 + jnp.dot(starts.astype(jnp.float32), until.T).astype(jnp.int32)
            found = jnp.where(starts & (rank == place), token, -1).max(axis=1, keepdims=True)
            offsets[...] = jnp.maximum(offsets[...], found)
            carried[before] = jnp.where(lane == block - 1, kept, 0).sum()
            carried[before + 1] += starts.astype(jnp.int32).sum()

        @pl.when(pl.program_id(1) == 1)
        def _():
            reached = jnp.where(in_q, largest[...], limits.min).max(axis=0, keepdims=True)
            count(jnp.where(keys_q[...] <= reached, ids_q, 0), length_q, offset_q, 0)
            reached = jnp.where(in_kv, least[...], limits.max).min(axis=0, keepdims=True)
            count(jnp.where(keys_kv[...] >= reached, ids_kv, 0), length_kv, offset_kv, 2)

    def offsets(segment_ids_q, segment_ids_kv, positions_q, positions_kv):
        keys_q, keys_kv = (
            -positions_q,
            -positions_kv,
        )  # negated, so that a query reaches keys that are not smaller
        if w.kind == "bottom_right":
            keys_q, keys_kv = (
                left_in_run(segment_ids_q, positions_q),
                left_in_run(segment_ids_kv, positions_kv),
            )
        elif w.kind == "padding":
            keys_q, keys_kv = jnp.zeros_like(keys_q), jnp.zeros_like(keys_kv)

        def side(tokens):
            last = pl.cdiv(tokens, block) - 1
            return pl.BlockSpec((None, 1, block), lambda row, _, at: (row, 0, jnp.minimum(at, last)))

        table = jax.ShapeDtypeStruct((w.batch, places, 1), jnp.int32)
        q_seqlens, q_offsets, kv_seqlens, kv_offsets = pl.pallas_call(
            scan,
            grid=(w.batch, 2, pl.cdiv(max(w.seq, w.keys), block)),
            in_specs=[side(w.seq), side(w.seq), side(w.keys), side(w.keys)],
            out_specs=[pl.BlockSpec((None, places, 1), lambda row, *_: (row, 0, 0))] * 4,
            out_shape=[table] * 4,
            scratch_shapes=[*[pltpu.VMEM((places, 1), jnp.int32)] * 2, pltpu.SMEM((4,), jnp.int32)],
        )(*(row[:, None] for row in (segment_ids_q, keys_q, segment_ids_kv, keys_kv)))
        return (
            q_seqlens[:, : w.max_segments, 0],
            kv_seqlens[:, : w.max_segments, 0],
            q_offsets[:, : w.max_segments + 1, 0],
            kv_offsets[:, : w.max_segments + 1, 0],
        )

    return offsets
