"""The workload of offsets: packed rows, and the mask under which their tokens meet."""

from __future__ import annotations

from dataclasses import dataclass

from harness import axis


@dataclass(frozen=True)
class OffsetsWorkload:
    """Rows of `seq` tokens in at most `max_segments` segments; `window` is read by `sliding` only."""

    batch: int = axis(1)  # independent rows
    seq: int = axis()  # tokens of a row
    max_segments: int = axis(16)  # segments that a row has at most
    kind: str = axis(
        "causal", choices=("causal", "bottom_right", "padding", "sliding")
    )  # of the mask over a pair of tokens
    layout: str = axis(
        "self", choices=("self", "cross", "absent", "intra_padding", "striped")
    )  # how the two sides' segments lie
    window: int = axis(4096, later=True)  # tokens back that `sliding` sees, the query's own among them
