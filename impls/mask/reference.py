"""The two meanings of the mask, in numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from harness import cast

if TYPE_CHECKING:
    from .family import MaskWorkload

FLOAT32_MAX = float.fromhex("0x1.fffffep127")


def closed(dtype: str) -> Any:
    """What is added to a logit to close it: −0.7 times float32's largest, rounded to `dtype`."""
    import numpy as np

    return cast(np.asarray(-0.7 * FLOAT32_MAX), dtype)


def selected(w: MaskWorkload, rows: Any) -> Callable[..., Any]:
    """0 at the columns in `topk_indices`, closed elsewhere: [batch, rows, seq]."""
    import numpy as np

    def mask(topk_indices: Any) -> Any:
        picked = topk_indices if rows is None else topk_indices[:, rows]
        out = np.full((*picked.shape[:2], w.seq), closed(w.dtype))
        np.put_along_axis(out, picked, np.zeros((), out.dtype), axis=-1)
        return out

    return mask


def threshold(w: MaskWorkload, rows: Any) -> Callable[..., Any]:
    """0 where the score reaches the least of `topk_values`: more than `topk` columns when scores tie."""
    import numpy as np

    def mask(scores: Any, topk_values: Any) -> Any:
        if rows is not None:
            scores, topk_values = scores[:, rows], topk_values[:, rows]
        value = closed(w.dtype)
        return np.where(scores >= topk_values[..., -1:], np.zeros((), value.dtype), value)

    return mask
