"""Launch the decode kernels over the compressed cache, contiguous or in pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import triton
from torch.nn.functional import linear

from harness import Unsupported, stage

from ._torch import dequantise, forward_only, latents, queries
from ._triton_decode import attend_part, join_parts
from .workload import MlaWorkload

LEAST_LATENT = 16  # elements that a product sums over
PROGRAMS = 256  # programs over which keys are divided: about two per multiprocessor of a large GPU


def decode_over(w: MlaWorkload) -> Callable[..., torch.Tensor]:
    """`decode(x, weights, freqs, ckv, kpe, table)`; with a table, the cache is in pages.

    Latents are [batch, seq, kv_lora], or [pages, page, kv_lora] with the table [batch, pages], int32.
    """
    if w.phase != "decode":
        raise Unsupported(f"phase={w.phase}: this attends to one new token; use phase=decode, or absorb")
    c = w.widths
    if c.kv_lora < LEAST_LATENT or c.kv_lora != triton.next_power_of_2(c.kv_lora):
        raise Unsupported(
            f"kv_lora_rank {c.kv_lora}: a tile has whole latents; use a power of two "
            f"of at least {LEAST_LATENT}, or absorb"
        )
    wide = w.dtype in {"f64", "f32"}
    block, heads = (16, 16) if wide else (32, 16 if c.heads % 32 else 32)
    warps = 8 if heads == 32 or w.dtype == "f64" else 4  # with these, nothing spills
    wanted = max(1, PROGRAMS * heads // (w.batch * c.heads))
    length = max(2, -(-w.seq // (wanted * block))) * block  # of a part; a single block is not worth one
    parts = -(-w.seq // length)
    rope = max(16, triton.next_power_of_2(c.rope))

    def attend(content: Any, position: Any, cached: Any, new: Any, table: Any) -> torch.Tensor:
        accumulated = torch.promote_types(content.dtype, torch.float32)
        sums, largest, total = (
            content.new_empty((w.batch, c.heads, parts, *last), dtype=accumulated)
            for last in ((c.kv_lora,), (), ())
        )
        mixed = torch.empty_like(content)
        attend_part[(parts, -(-c.heads // heads), w.batch)](
            content, position, *cached, *new, table, sums, largest, total,
            w.seq, length, c.heads, w.pages,
            w.scale, c.kv_lora, c.rope, rope, heads, c.heads % heads > 0, block,
            0 if table is None else w.page,
            num_warps=warps, num_stages=2,
        )  # fmt: skip
        join_parts[(w.batch * c.heads, 4)](
            sums, largest, total, mixed, parts, c.kv_lora // 4, triton.next_power_of_2(parts), 16, num_warps=4
        )
        return mixed

    def decode(x: Any, weights: Any, freqs: Any, ckv: Any, kpe: Any, table: Any = None) -> torch.Tensor:
        forward_only(x)
        weights = dequantise(w, weights)
        of_keys, of_values = weights["wkv_b"].view(c.heads, c.nope + c.v, c.kv_lora).split([c.nope, c.v], 1)
        content, position = queries(w, x, weights, freqs)
        with stage("absorb"):
            content = torch.einsum("bshd,hdc->bshc", content, of_keys).contiguous()
        new = latents(w, x, weights, freqs)
        with stage("attend"):
            mixed = attend(
                content, position.contiguous(), (ckv, kpe), [part.contiguous() for part in new], table
            )
        with stage("absorb"):
            each = torch.einsum("bshc,hdc->bshd", mixed, of_values)
        with stage("output"):
            return linear(each.flatten(2), weights["wo"])

    return decode
