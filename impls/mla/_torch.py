"""Shared code of the torch implementations; upstream's dtypes: rotation, softmax in f32 (f64 for f64).

A decode or chunk attends to its cache and the new tokens without joining them. Scores are joined but keys are
not, so the cache is not copied to append one token.
"""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

from harness import Unsupported, stage

from ._inputs import BLOCK
from .workload import MlaWorkload

EPSILON = 1e-6


def dequantise(w: MlaWorkload, weights: Any) -> Any:
    """Weights in the model's dtype: quantised numbers times their blocks' scales (`weight_dequant`).

    This happens in every call, as in upstream's absorbed path; `weights: plain` is the case in which it was
    done once before. Blocks at the end may be partial: `wkv_a` has 576 rows.
    """
    import torch

    if w.weights == "plain":
        return weights
    with stage("dequantise"):
        plain_weights = dict(weights)
        for name in [name for name in weights if name.endswith("_scale")]:
            scales = plain_weights.pop(name)
            if scales.requires_grad:
                raise Unsupported("weights=fp8_block has no backward; use weights=plain or mode fwd")
            numbers = weights[name.removesuffix("_scale")].view(torch.float8_e4m3fn)
            numbers = numbers.to(torch.promote_types(weights["kv_norm"].dtype, torch.float32))
            spread = scales.repeat_interleave(BLOCK, 0).repeat_interleave(BLOCK, 1)
            numbers *= spread[: numbers.shape[0], : numbers.shape[1]]
            plain_weights[name.removesuffix("_scale")] = numbers.to(weights["kv_norm"].dtype)
    return plain_weights


def queries(w: MlaWorkload, x: Any, weights: Any, freqs: Any) -> tuple[Any, Any]:
    """The parts without and with position, [b, s, heads, nope] and [b, s, heads, rope]."""
    from torch.nn.functional import linear

    c = w.widths
    with stage("project"):
        if c.q_lora:
            q = linear(_norm(linear(x, weights["wq_a"]), weights["q_norm"]), weights["wq_b"])
        else:
            q = linear(x, weights["wq"])
    content, position = q.unflatten(-1, (c.heads, -1)).split([c.nope, c.rope], -1)
    return content, _rotate(position, freqs)


def joined_queries(w: MlaWorkload, x: Any, weights: Any, freqs: Any) -> Any:
    """Both parts joined, [b, s, heads, nope + rope]."""
    import torch

    parts = queries(w, x, weights, freqs)
    with stage("rotate"):
        return torch.cat(parts, -1)


def latents(w: MlaWorkload, x: Any, weights: Any, freqs: Any) -> tuple[Any, Any]:
    """What a cache stores of new tokens: normalised latents [b, s, kv_lora], rotated keys [b, s, rope]."""
    from torch.nn.functional import linear

    with stage("project"):
        ckv, kpe = linear(x, weights["wkv_a"]).split([w.widths.kv_lora, w.widths.rope], -1)
        ckv = _norm(ckv, weights["kv_norm"])
    return ckv, _rotate(kpe[:, :, None], freqs)[:, :, 0]


def keys_values(w: MlaWorkload, x: Any, weights: Any, freqs: Any) -> tuple[Any, Any]:
    """Every head's keys [b, s, heads, nope + rope] and values [b, s, heads, v]."""
    import torch
    from torch.nn.functional import linear

    c = w.widths
    ckv, kpe = latents(w, x, weights, freqs)
    with stage("expand"):
        k, v = linear(ckv, weights["wkv_b"]).unflatten(-1, (c.heads, -1)).split([c.nope, c.v], -1)
        return torch.cat([k, kpe[:, :, None].expand(-1, -1, c.heads, -1)], -1), v


def attend_keys(w: MlaWorkload, q: Any, parts: Any, weights: Any, mask: Any = None) -> Any:
    """Attention of queries to every head's keys and values, which come in several parts."""
    import torch
    from torch.nn.functional import linear

    with stage("scores"):
        scores = [torch.einsum("bshd,bthd->bsht", q, k) for k, _ in parts]
    shares = probabilities(w, scores, None if mask is None else mask[:, None])
    with stage("values"):
        products = (torch.einsum("bsht,bthd->bshd", p, v) for p, (_, v) in zip(shares, parts, strict=True))
        heads = reduce(add, products)
    with stage("output"):
        result = linear(heads.flatten(2), weights["wo"])
        del (
            scores,
            shares,
        )  # not freed before this, as in upstream; returning their memory is part of a stage's time
        return result


def absorbed_queries(w: MlaWorkload, x: Any, weights: Any, freqs: Any) -> tuple[Any, Any]:
    """Queries for latents, [b, s, heads, kv_lora], with the up-projection applied, and for rotated keys."""
    import torch

    content, position = queries(w, x, weights, freqs)
    with stage("absorb"):
        return torch.einsum("bshd,hdc->bshc", content, _up_projections(w, weights)[0]), position


def attend_latents(w: MlaWorkload, latent_queries: Any, parts: Any, weights: Any, mask: Any = None) -> Any:
    """Attention of queries to latents and rotated keys, which come in several parts."""
    import torch
    from torch.nn.functional import linear

    content, position = latent_queries
    with stage("scores"):
        scores = [
            torch.einsum("bshc,btc->bsht", content, ckv) + torch.einsum("bshr,btr->bsht", position, kpe)
            for ckv, kpe in parts
        ]
    shares = probabilities(w, scores, None if mask is None else mask[:, None])
    with stage("values"):
        products = (torch.einsum("bsht,btc->bshc", p, ckv) for p, (ckv, _) in zip(shares, parts, strict=True))
        mixed = reduce(add, products)
    with stage("absorb"):
        heads = torch.einsum("bshc,hdc->bshd", mixed, _up_projections(w, weights)[1])
    with stage("output"):
        return linear(heads.flatten(2), weights["wo"])


def _up_projections(w: MlaWorkload, weights: Any) -> tuple[Any, Any]:
    """From latents, every head's keys without position, and its values."""
    c = w.widths
    return weights["wkv_b"].view(c.heads, c.nope + c.v, c.kv_lora).split([c.nope, c.v], 1)


def probabilities(w: MlaWorkload, scores: list[Any], mask: Any = None) -> tuple[Any, ...]:
    """Softmax over the keys of all parts together; returns the parts, in the scores' dtype."""
    import torch

    with stage("softmax"):
        joined = torch.cat(scores, -1) if len(scores) > 1 else scores[0]
        wide = joined.to(_wide(joined))
        # In place: f32 scores were computed for this call and are not used again.
        wide *= w.scale
        if mask is not None:
            wide += mask
        # Rounded back to the scores' dtype before the product with the values, as upstream does.
        shares = torch.softmax(wide, -1).to(joined.dtype)
        return shares.split([part.shape[-1] for part in scores], -1)


def future(w: MlaWorkload, x: Any) -> Any:
    """−inf at keys after the query, [new, cached + new]; None if every key is visible."""
    import torch

    if w.phase == "decode" or not w.causal:
        return None
    with stage("mask"):
        size = w.new, w.cached + w.new
        return torch.full(size, -torch.inf, dtype=x.dtype, device=x.device).triu(w.cached + 1)


def forward_only(x: Any) -> Any:
    """`x` itself; raise :class:`Unsupported` in a backward of a phase with a cache.

    Its cache exists in two forms, and the gradients would depend on which of them is differentiated.
    """
    if x.requires_grad:
        raise Unsupported("phase=decode and phase=chunk have no backward; use phase=prefill or mode fwd")
    return x


def _norm(x: Any, weight: Any) -> Any:
    from torch.nn.functional import rms_norm

    return rms_norm(x, weight.shape, weight, EPSILON)


def _rotate(x: Any, freqs: Any) -> Any:
    """Rotate neighbouring pairs, as complex numbers; x is [b, s, heads, rope]."""
    import torch

    with stage("rotate"):
        pairs = torch.view_as_complex(x.to(_wide(x)).unflatten(-1, (-1, 2)).contiguous())
        return torch.view_as_real(pairs * freqs[:, None]).flatten(-2).to(x.dtype)


def _wide(x: Any) -> Any:
    import torch

    return torch.promote_types(x.dtype, torch.float32)
