"""A cache that grows by one token at a time, for decodes of several steps."""

from __future__ import annotations

from typing import Any, Literal

from harness import stage

Cache = Literal["beside", "joined"]
Parts = list[tuple[Any, ...]]


def grow(parts: Parts, new: tuple[Any, ...], cache: Cache) -> Parts:
    """The cache's parts with a token's entry after them.

    `beside`: new tokens are a separate part, and the input cache is never copied. `joined`: there is one
    part, which is copied as a whole for every token.
    """
    import torch

    if cache == "beside" and len(parts) == 1:
        return [*parts, new]
    with stage("cache"):
        return [*parts[:-1], tuple(torch.cat(pair, 1) for pair in zip(parts[-1], new, strict=True))]
