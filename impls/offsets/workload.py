"""The workload of offsets: packed rows, and the mask under which their tokens meet."""

from __future__ import annotations

from dataclasses import dataclass

from harness import axis


@dataclass(frozen=True)
class OffsetsWorkload:
    """Rows of `seq` tokens in at most `max_segments` segments; `window` is read by `sliding` only."""

    batch: int = axis(1)
    seq: int = axis()
    max_segments: int = axis(16)
    kind: str = axis("causal", choices=("causal", "bottom_right", "padding", "sliding"))
    layout: str = axis("self", choices=("self", "cross", "absent", "intra_padding", "striped"))
    window: int = axis(4096, later=True)
