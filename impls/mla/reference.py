"""Reference in double precision: some heads and some rows at a time, nothing fused or reordered.

A decode's reference reads the latents; the cached keys and values are the same content, rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness import Unsupported

from .workload import MlaWorkload

EPSILON = 1e-6
KEYS = 1 << 24  # numbers in a block of heads' keys and values: 128 MiB in f64
BLOCK = 128  # rows and columns of a quantised weight that share one scale
SCORES = 1 << 23  # scores of a block of rows: 64 MiB


def dense(w: MlaWorkload, rows: Any) -> Callable[..., Any]:
    """wo·softmax(scale·q·k)·v, where q and k have a part from the token and a rotated part."""
    import torch
    from torch.nn.functional import linear

    def prefill(x, weights, freqs):
        weights = dequantise(weights)
        ckv, kpe = latents(w, x, weights, freqs)
        chosen = torch.arange(w.seq) if rows is None else torch.as_tensor(rows)
        chosen = chosen.to(x.device, torch.long)
        q = _queries(w, x[:, chosen], weights, freqs[chosen])
        return linear(_heads(w, q, ckv, kpe, weights, chosen if w.causal else None), weights["wo"])

    def decode(x, weights, freqs, cache_ckv, cache_kpe):
        if x.requires_grad:
            raise Unsupported(f"phase={w.phase} has no backward; use phase=prefill or mode fwd")
        weights = dequantise(weights)
        new = latents(w, x, weights, freqs)
        ckv, kpe = (torch.cat(pair, 1) for pair in zip((cache_ckv, cache_kpe), new, strict=True))
        chosen = torch.arange(w.new) if rows is None else torch.as_tensor(rows)
        chosen = chosen.to(x.device, torch.long)
        q = _queries(w, x[:, chosen], weights, freqs[chosen])
        return linear(_heads(w, q, ckv, kpe, weights, w.seq + chosen), weights["wo"])

    return decode if w.cached else prefill


def dequantise(weights: Any) -> Any:
    """Weights as given, or decoded from float8_e4m3 bits: sign, 4 bits of exponent, 3 of mantissa."""
    import torch

    out = dict(weights)
    for name in [name for name in weights if name.endswith("_scale")]:
        scales, words = out.pop(name), weights[name.removesuffix("_scale")]
        if scales.requires_grad:
            raise Unsupported("weights=fp8_block has no backward; use weights=plain or mode fwd")
        places = torch.arange(0, 32, 8, dtype=words.dtype, device=words.device)
        bits = (words[..., None] >> places & 255).flatten(-2)
        rows, columns = (torch.arange(n, device=words.device) // BLOCK for n in bits.shape)
        out[name.removesuffix("_scale")] = _float8(scales)[bits] * scales[rows][:, columns]
    return out


def _float8(like: Any) -> Any:
    """The value of each of the 256 bit patterns; two are NaN, and never stored."""
    import torch

    bits = torch.arange(256, device=like.device)
    exponent, mantissa = bits >> 3 & 15, (bits & 7).to(like.dtype) / 8
    size = torch.where(exponent > 0, 1 + mantissa, mantissa) * 2.0 ** (exponent.clamp(min=1) - 7)
    return torch.where(bits > 127, -size, size)


def _queries(w: MlaWorkload, x: Any, weights: Any, freqs: Any) -> Any:
    """[b, rows, heads, nope + rope], the last part rotated."""
    import torch

    if "wq" in weights:
        q = x @ weights["wq"].T
    else:
        q = _norm(x @ weights["wq_a"].T, weights["q_norm"]) @ weights["wq_b"].T
    q = q.unflatten(-1, (w.widths.heads, -1))
    nope = w.widths.nope
    return torch.cat([q[..., :nope], _rotate(q[..., nope:], freqs[:, None])], -1)


def latents(w: MlaWorkload, x: Any, weights: Any, freqs: Any) -> tuple[Any, Any]:
    """What a cache stores of new tokens: normalised latents [b, s, kv_lora], rotated keys [b, s, rope]."""
    kv = x @ weights["wkv_a"].T
    width = w.widths.kv_lora
    return _norm(kv[..., :width], weights["kv_norm"]), _rotate(kv[..., width:], freqs)


def _heads(w: MlaWorkload, q: Any, ckv: Any, kpe: Any, weights: Any, last: Any) -> Any:
    """Attention of all heads, [b, rows, heads·v]; row i sees keys up to last[i], or all if None."""
    import torch
    from torch.utils.checkpoint import checkpoint

    c = w.widths
    up = weights["wkv_b"].unflatten(0, (c.heads, -1))
    keys = torch.arange(kpe.shape[1], device=q.device)

    def block(q, k, v, kpe, last):
        content, position = q[..., : c.nope], q[..., c.nope :]
        scores = torch.einsum("bshd,bthd->bsht", content, k)
        scores = w.scale * (scores + torch.einsum("bshr,btr->bsht", position, kpe))
        if last is not None:
            scores = scores.masked_fill((keys > last[:, None])[:, None], -torch.inf)
        return torch.einsum("bsht,bthd->bshd", torch.softmax(scores, -1), v)

    def some_heads(q, up):
        k, v = torch.einsum("btc,hdc->bthd", ckv, up).split([c.nope, c.v], -1)
        size = max(1, SCORES // (w.batch * up.shape[0] * len(keys)))
        rows = q.split(size, 1)
        bounds = [None] * len(rows) if last is None else last.split(size)
        blocks = [
            checkpoint(block, r, k, v, kpe, to, use_reentrant=False, preserve_rng_state=False)
            for r, to in zip(rows, bounds, strict=True)
        ]
        return torch.cat(blocks, 1)

    together = max(1, KEYS // (w.batch * len(keys) * (c.nope + c.v)))
    pairs = zip(q.split(together, 2), up.split(together), strict=True)
    return torch.cat([some_heads(*pair) for pair in pairs], 2).flatten(2)


def _norm(x: Any, weight: Any) -> Any:
    return x / (x.square().mean(-1, keepdim=True) + EPSILON).sqrt() * weight


def _rotate(x: Any, freqs: Any) -> Any:
    """Rotate neighbouring pairs (x0, x1) by an angle: (x0 cos − x1 sin, x0 sin + x1 cos)."""
    import torch

    cos, sin = (part.to(x.dtype) for part in (freqs.real, freqs.imag))
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)
