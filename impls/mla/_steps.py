"""A cache that grows by a token at a time: what the decodes of several steps share."""

from __future__ import annotations

from typing import Any, Literal

from harness import stage

Cache = Literal["beside", "joined"]
Parts = list[tuple[Any, ...]]


def grow(parts: Parts, new: tuple[Any, ...], cache: Cache) -> Parts:
    """The cache's parts with a token's entry behind them.

    `beside`: new tokens are a part of their own, and what came as an input is never copied. `joined`: one
    part, all of which is copied for every token.
    """
    import torch

    if cache == "beside" and len(parts) == 1:
        return [*parts, new]
    with stage("cache"):
        return [*parts[:-1], tuple(torch.cat(pair, 1) for pair in zip(parts[-1], new, strict=True))]
