"""The callable of a phase: for a whole prompt, or for new tokens with a cache in one of its two forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .workload import MlaWorkload

Attend = Callable[[Any, Any, Any, list[tuple[Any, Any]]], Any]  # x, weights, freqs, and the cache


def attend_cached_keys(
    w: MlaWorkload, attend: Attend, forward_only: Callable[[Any], Any]
) -> Callable[..., Any]:
    """`attend` for a cache of the keys and values of all heads."""

    def cached(x: Any, weights: Any, freqs: Any, cache_k: Any, cache_v: Any) -> Any:
        return attend(forward_only(x), weights, freqs, [(cache_k, cache_v)])

    return cached if w.cached else _prefill(attend)


def attend_cached_latents(
    w: MlaWorkload, attend: Attend, forward_only: Callable[[Any], Any]
) -> Callable[..., Any]:
    """`attend` for a cache of latents and shared rotated keys."""

    def cached(x: Any, weights: Any, freqs: Any, cache_ckv: Any, cache_kpe: Any) -> Any:
        return attend(forward_only(x), weights, freqs, [(cache_ckv, cache_kpe)])

    return cached if w.cached else _prefill(attend)


def _prefill(attend: Attend) -> Callable[..., Any]:
    def prefill(x: Any, weights: Any, freqs: Any) -> Any:
        return attend(x, weights, freqs, [])

    return prefill
