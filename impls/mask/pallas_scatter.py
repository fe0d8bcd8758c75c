"""Fill and scatter in one Pallas kernel: close each block, then open its indices one after the other.

A TPU cannot write a single element. Each index rewrites its tile of 128 columns while the block is in VMEM,
so the mask is written to HBM once. Every block reads all indices of its rows, one at a time. An index outside
[0, seq), also a negative one, is dropped.
"""

from harness import Unsupported, implementation

from .reference import closed_value
from .workload import MaskWorkload

LANES = 128


@implementation(framework="pallas", semantics="exact")
def pallas_scatter(w: MaskWorkload, *, block: int = 8192):
    import jax
    import jax.numpy as jnp
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    if w.dtype == "f64":
        raise Unsupported("dtype=f64: a TPU has no double precision; use dtype=f32 or mask/scatter")
    if block < LANES or block % LANES:
        raise Unsupported(f"block={block} is not a multiple of the tile's {LANES} columns; use a multiple")
    closed = closed_value(w.dtype)
    tile = 8 * (4 // closed.dtype.itemsize), LANES  # rows and columns that fill a register
    rows = w.batch * w.rows

    def fill_and_scatter(indices, out):
        out[...] = jnp.full(out.shape, closed, out.dtype)
        first = pl.program_id(1) * block
        row_of, column_of = (jax.lax.broadcasted_iota(jnp.int32, tile, axis) for axis in (0, 1))

        def open_one(number, _):
            row, place = number // w.topk, number % w.topk
            column = indices[row, place] - first

            @pl.when((column >= 0) & (column < block))
            def _():
                here = pl.ds(pl.multiple_of(column // LANES * LANES, LANES), LANES)
                hit = (row_of == row) & (column_of == column % LANES)
                out[:, here] = jnp.where(hit, jnp.zeros(tile, out.dtype), out[:, here])

        left = jnp.minimum(tile[0], rows - pl.program_id(0) * tile[0])
        jax.lax.fori_loop(0, left * w.topk, open_one, None)

    def mask(topk_indices):
        shut = pl.pallas_call(
            fill_and_scatter,
            grid=(pl.cdiv(rows, tile[0]), pl.cdiv(w.seq, block)),
            in_specs=[pl.BlockSpec((tile[0], w.topk), lambda i, _: (i, 0), memory_space=pltpu.SMEM)],
            out_specs=pl.BlockSpec((tile[0], block), lambda i, j: (i, j)),
            out_shape=jax.ShapeDtypeStruct((rows, w.seq), closed.dtype),
        )(topk_indices.reshape(rows, w.topk))
        return shut.reshape(w.batch, w.rows, w.seq)

    return mask
