"""Inputs of a workload: tokens, weights, rotations, and the cache of a decode or chunk in both forms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from harness import Array, Shapes, Unsupported, cast

from .workload import EXTENSION, PEAK, Config, MlaWorkload

ROPE_BASE = 10000.0
TRAINED = 4096  # tokens of the context before it was extended
FAST, SLOW = (
    32,
    1,
)  # turns over that context: pairs with more stay as they are, pairs with fewer are slowed down fully
BLOCK = 128  # rows and columns of a quantised weight that share one scale
LARGEST = 448.0  # largest float8_e4m3 number
WORD = 4  # quantised numbers in an int32, the first in its lowest bits
RUN = 64  # tokens of a cluster, which share a direction


def weight_shapes(c: Config) -> dict[str, tuple[int, ...]]:
    """Linear weights as [out, in] and norm weights, with upstream's names."""
    query = c.heads * (c.nope + c.rope)
    if c.q_lora:
        ways: dict[str, tuple[int, ...]] = {
            "wq_a": (c.q_lora, c.dim),
            "q_norm": (c.q_lora,),
            "wq_b": (query, c.q_lora),
        }
    else:
        ways = {"wq": (query, c.dim)}
    return {
        **ways,
        "wkv_a": (c.kv_lora + c.rope, c.dim),
        "kv_norm": (c.kv_lora,),
        "wkv_b": (c.heads * (c.nope + c.v), c.kv_lora),
        "wo": (c.dim, c.heads * c.v),
    }


def shapes(w: MlaWorkload) -> Shapes:
    c = w.widths
    if c.rope % 2:
        raise Unsupported(f"rope={c.rope} is odd, but positions rotate pairs; use an even number")
    if w.steps > 1 and w.phase != "decode":
        raise Unsupported(
            f"steps={w.steps}: a {w.phase} takes all tokens at once; use phase=decode or steps=1"
        )
    arrays: dict[str, Any] = {
        "x": Array((w.batch, w.new, c.dim), w.dtype),
        "weights": _weight_arrays(w),
        "freqs": Array((w.new, c.rope // 2), "c64"),
    }
    if w.phase == "chunk" and not w.causal:
        raise Unsupported("causal=false: no tokens follow those of a chunk; use causal=true")
    if w.cached:
        cached = (w.batch, w.seq)
        arrays["cache_k"] = Array((*cached, c.heads, c.nope + c.rope), w.dtype)
        arrays["cache_v"] = Array((*cached, c.heads, c.v), w.dtype)
        arrays["cache_ckv"] = Array((*cached, c.kv_lora), w.dtype)
        arrays["cache_kpe"] = Array((*cached, c.rope), w.dtype)
    if w.page and w.phase != "decode":
        raise Unsupported(f"page={w.page}: only a decode has pages; use phase=decode or page=0")
    if w.page:
        in_pages = (w.batch * w.pages, w.page)
        arrays["pages_ckv"] = Array((*in_pages, c.kv_lora), w.dtype)
        arrays["pages_kpe"] = Array((*in_pages, c.rope), w.dtype)
        arrays["page_table"] = Array((w.batch, w.pages), "i32")
    return arrays


def _weight_arrays(w: MlaWorkload) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    for name, shape in weight_shapes(w.widths).items():
        if w.weights == "plain" or len(shape) == 1:
            arrays[name] = Array(shape, w.dtype)
            continue
        if shape[1] % WORD:
            raise Unsupported(
                f"weights=fp8_block packs {WORD} numbers into a word, but {name} has {shape[1]} columns; "
                "use widths divisible by 4"
            )
        arrays[name] = Array((shape[0], shape[1] // WORD), "i32")
        arrays[f"{name}_scale"] = Array((-(-shape[0] // BLOCK), -(-shape[1] // BLOCK)), "f32")
    return arrays


def inputs(w: MlaWorkload, rng: Any) -> Mapping[str, Any]:
    """Normal tokens; weights scaled by 1/√in, so that every activation stays near 1.

    Norm weights are near 1 and, like all of upstream's weights, in the model's dtype. A decode's cache stores
    the same content twice: normalised latents and rotated keys as drawn, and the keys and values that `wkv_b`
    computes from the rounded latents, rounded again.

    `clustered`: tokens come in runs of 64 that share a direction with half of their variance. `peaked`:
    queries are five times as large, so that a softmax selects few keys. `zeros`: queries are 0, and all keys
    have equal weight.
    """
    drawn = _drawn(w)
    factor = {"peaked": PEAK, "zeros": 0}.get(w.distribution, 1)

    def normal(*shape: int) -> Any:
        return rng.standard_normal(shape, dtype=drawn)

    def weight(*shape: int) -> Any:
        return normal(*shape) / math.sqrt(shape[1]) if len(shape) > 1 else 1 + 0.1 * normal(*shape)

    x = cast(_in_runs(w, normal(w.batch, w.new, w.widths.dim), rng) * drawn(w.input_scale), w.dtype)
    weights: dict[str, Any] = {}
    for name, shape in weight_shapes(w.widths).items():
        made = weight(*shape) * drawn(factor if name in {"wq", "wq_b"} else 1)
        if w.weights == "plain" or len(shape) == 1:
            weights[name] = cast(made, w.dtype)
        else:
            weights[name], weights[f"{name}_scale"] = quantise(made)
    arrays = {"x": x, "weights": weights, "freqs": frequencies(w)}
    if w.cached:
        arrays |= cache(w, weights, rng)
    if w.page:
        table = rng.permutation(w.batch * w.pages).reshape(w.batch, w.pages).astype("int32")
        arrays |= put_in_pages(w, table, arrays["cache_ckv"], arrays["cache_kpe"])
    return arrays


def complete(w: MlaWorkload, arrays: dict[str, Any], given: frozenset[str]) -> dict[str, Any]:
    """Add the other form of a decode's cache if the file has only the latents, or the weights."""
    parts = {"cache_ckv", "cache_kpe"}
    if given & {"pages_ckv", "pages_kpe", "page_table"}:
        raise ValueError("pages are made from the cache: capture cache_ckv and cache_kpe")
    if w.page:
        arrays |= put_in_pages(w, arrays["page_table"], arrays["cache_ckv"], arrays["cache_kpe"])
    if not w.cached or given >= {"cache_k", "cache_v"}:
        return arrays
    if given & {"cache_k", "cache_v"}:
        raise ValueError(
            "a cache is keys and values: capture cache_k and cache_v, or cache_ckv and cache_kpe"
        )
    wide = _drawn(w)
    return arrays | both_forms(w, arrays["weights"], *(arrays[name].astype(wide) for name in sorted(parts)))


def _drawn(w: MlaWorkload) -> Any:
    """Dtype in which numbers are drawn before they are rounded."""
    import numpy as np

    return np.float64 if w.dtype == "f64" else np.float32


def _in_runs(w: MlaWorkload, tokens: Any, rng: Any) -> Any:
    """Normal tokens [batch, tokens, width], in clusters if the workload's distribution says so."""
    if w.distribution != "clustered":
        return tokens
    batch, count, width = tokens.shape
    shared = rng.standard_normal((batch, -(-count // RUN), width), dtype=tokens.dtype)
    return (tokens + shared.repeat(RUN, 1)[:, :count]) * tokens.dtype.type(0.5**0.5)


def cache(w: MlaWorkload, weights: Mapping[str, Any], rng: Any) -> dict[str, Any]:
    """A decode's cache of drawn tokens, in both forms."""
    import numpy as np

    c, drawn = w.widths, _drawn(w)
    latents = _in_runs(w, rng.standard_normal((w.batch, w.seq, c.kv_lora), dtype=drawn), rng)
    latents /= np.sqrt(np.mean(latents**2, -1, keepdims=True))
    latents *= weights["kv_norm"].astype(drawn)
    return both_forms(w, weights, latents, rng.standard_normal((w.batch, w.seq, c.rope), dtype=drawn))


def both_forms(w: MlaWorkload, weights: Mapping[str, Any], latents: Any, positions: Any) -> dict[str, Any]:
    """Latents and rotated keys as a cache stores them, and the keys and values of all heads."""
    import numpy as np

    c = w.widths
    ckv, kpe = cast(latents, w.dtype), cast(positions, w.dtype)
    wide = latents.dtype
    made = ckv.astype(wide) @ numbers(weights, "wkv_b", wide).T
    made = cast(made, w.dtype).reshape(*ckv.shape[:2], c.heads, c.nope + c.v)
    shared = np.broadcast_to(kpe[:, :, None], (*ckv.shape[:2], c.heads, c.rope))
    k = np.concatenate([made[..., : c.nope], shared], -1)
    return {"cache_k": k, "cache_v": made[..., c.nope :].copy(), "cache_ckv": ckv, "cache_kpe": kpe}


def put_in_pages(w: MlaWorkload, table: Any, *caches: Any) -> dict[str, Any]:
    """The latents and rotated keys of a cache, in pages of `w.page` tokens at the places in the table.

    The unused end of a last page has numbers that no answer may depend on.
    """
    import numpy as np

    arrays: dict[str, Any] = {"page_table": table}
    for name, cached in zip(("pages_ckv", "pages_kpe"), caches, strict=True):
        filled = np.full((w.batch, w.pages * w.page, cached.shape[-1]), LARGEST, cached.dtype)
        filled[:, : w.seq] = cached
        pages = np.empty((w.batch * w.pages, w.page, cached.shape[-1]), cached.dtype)
        pages[table.ravel()] = filled.reshape(pages.shape)
        arrays[name] = pages
    return arrays


def quantise(weight: Any) -> tuple[Any, Any]:
    """(words of four float8_e4m3 numbers, f32 scales): each block's largest number becomes 448."""
    import ml_dtypes
    import numpy as np

    scales = np.empty([-(-size // BLOCK) for size in weight.shape], np.float32)
    for row, column in np.ndindex(*scales.shape):
        block = weight[row * BLOCK : (row + 1) * BLOCK, column * BLOCK : (column + 1) * BLOCK]
        scales[row, column] = (np.abs(block).max() or LARGEST) / LARGEST  # any scale is right for zeros
    ratio = np.clip(weight / _spread(scales, weight.shape), -LARGEST, LARGEST)
    return ratio.astype(ml_dtypes.float8_e4m3fn).view("<i4"), scales


def plain(w: MlaWorkload, weights: Mapping[str, Any]) -> dict[str, Any]:
    """Weights without scales in the workload's dtype; quantised weights are multiplied by scales in f32."""
    wide = _drawn(w)
    names = [name for name in weights if not name.endswith("_scale")]
    return {name: cast(numbers(weights, name, wide), w.dtype) for name in names}


def numbers(weights: Mapping[str, Any], name: str, wide: Any) -> Any:
    """A weight, or its quantised numbers times their scales, in a wide dtype."""
    import ml_dtypes
    import numpy as np

    scales = weights.get(f"{name}_scale")
    if scales is None:
        return weights[name].astype(wide)
    values = np.ascontiguousarray(weights[name]).view(ml_dtypes.float8_e4m3fn).astype(wide)
    return values * _spread(scales, values.shape)


def _spread(scales: Any, shape: tuple[int, ...]) -> Any:
    """Each number's scale; blocks at the end may be partial."""
    return scales.repeat(BLOCK, 0).repeat(BLOCK, 1)[: shape[0], : shape[1]]


def frequencies(w: MlaWorkload) -> Any:
    """exp(i·position·speed), complex64 [new tokens, rope/2]."""
    import numpy as np

    positions = np.arange(w.cached, w.cached + w.new)
    return np.exp(1j * np.outer(positions, _speeds(w))).astype(np.complex64)


def _speeds(w: MlaWorkload) -> Any:
    """Radians per token of each pair, base^(−2j/rope); yarn (arXiv 2309.00071) slows down slow pairs.

    Pairs that turn more than FAST times over the trained context stay as they were. Those below SLOW turn
    EXTENSION times slower. Between them, a ramp over the pairs' indices mixes both.
    """
    import numpy as np

    rope = w.widths.rope
    speed = ROPE_BASE ** -(np.arange(0, rope, 2) / rope)
    if w.rope_scaling == "none":
        return speed
    fast, slow = (
        rope * math.log(TRAINED / (2 * math.pi * turns)) / (2 * math.log(ROPE_BASE)) for turns in (FAST, SLOW)
    )
    low, high = max(math.floor(fast), 0), min(math.ceil(slow), rope - 1)
    ramp = np.clip((np.arange(rope // 2) - low) / max(high - low, 0.001), 0, 1)
    return speed * (1 - ramp) + speed / EXTENSION * ramp
