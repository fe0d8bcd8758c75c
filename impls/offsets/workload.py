"""Workload of offsets: packed rows, and the mask that pairs their tokens."""

from __future__ import annotations

from dataclasses import dataclass

from harness import LENGTHS, PACKERS, Workload, axis, packed_rows

DISTRIBUTIONS = ("iid", "unpadded", "padded", "long_run", "zeros")


@dataclass(frozen=True)
class OffsetsWorkload(Workload):
    """Rows of `seq` tokens in at most `max_segments` segments; only `sliding` reads `window`.

    `head_dim` is the width of queries, keys and values of `heads` heads, for attention over the segments; 0,
    the default: no attention. `seq_kv` is the length of the keys' rows if it differs. Segments of real
    `lengths` are documents, packed without padding between them.
    """

    batch: int = axis(1)  # independent rows
    seq: int = axis()  # tokens per row
    max_segments: int = axis(16)  # largest number of segments in a row
    kind: str = axis("causal", choices=("causal", "bottom_right", "padding", "sliding"))  # mask over pairs
    layout: str = axis(
        "self", choices=("self", "cross", "absent", "intra_padding", "striped")
    )  # layout of the two sides' segments
    window: int = axis(4096, later=True)  # tokens back that `sliding` sees, including the query's own
    seq_kv: int = axis(0, minimum=0, later=True)  # tokens in a row of keys; 0: as many as in a row of queries
    head_dim: int = axis(
        0, minimum=0, later=True
    )  # elements of a query, key and value; 0: no attention over the segments
    heads: int = axis(4, later=True)  # of queries
    dtype: str = axis("f32", choices=("f64", "f32", "bf16", "f16"), later=True)  # of keys and values
    lengths: str = axis("uniform", choices=LENGTHS, table=True, later=True)  # of segments
    packing: str = axis("first_fit", choices=PACKERS, later=True)  # of documents into rows
    packing_seed: int = axis(0, minimum=0, later=True)  # of their lengths, and of the rows that are used
    distribution: str = axis(
        "iid", choices=DISTRIBUTIONS, captured=True, later=True
    )  # how segments and padding are drawn

    @property
    def keys(self) -> int:
        """Tokens of a row of keys."""
        return self.seq_kv or self.seq

    @property
    def packed(self) -> tuple[tuple[int, ...], ...]:
        """Tokens of each row's documents; None if `lengths` is uniform and inputs draw the segments."""
        if self.lengths == "uniform":
            return ()
        return packed_rows(self.lengths, self.packing, self.packing_seed, self.seq, self.batch)
