"""Decode over the compressed cache in two Triton kernels: parts of the keys by themselves, then joined.

All heads share one key, [latent | rotated part]: heads are the rows of the products, and the cache is read
once per 16 or 32 of them. It is not copied to append the new token, which opens the first part. There are so
many parts that about 256 programs share the keys (flash-decoding); a program per group of heads alone would
leave a GPU almost empty where sequences are few. Projections are torch's and the answer is as in `absorb`.

In f32 its products are IEEE's, without tensor cores: tf32 would not keep the bound.
"""

from harness import Unsupported, implementation, stage

from ._cost import keeps_latents
from ._torch import dequantise, forward_only, latents, queries
from .workload import MlaWorkload

PROGRAMS = 256  # that the keys are parted for, about two for each multiprocessor of a large GPU


def power_of_two(number: int) -> int:
    """The least that is no smaller."""
    return 1 << (number - 1).bit_length()


@implementation(framework="triton", semantics="dense", facts=keeps_latents)
def triton_decode(w: MlaWorkload):
    import torch
    from torch.nn.functional import linear

    from ._triton_decode import attend_part, join_parts

    if w.phase != "decode":
        raise Unsupported("phase=prefill: this attends one new token; use phase=decode, or absorb_sdpa")
    c = w.widths
    wide = w.dtype in {"f64", "f32"}
    block, heads = (16, 16) if wide else (32, 16 if c.heads % 32 else 32)
    warps = 8 if heads == 32 or w.dtype == "f64" else 4  # with which nothing is spilled
    wanted = max(1, PROGRAMS * heads // (w.batch * c.heads))
    length = max(2, -(-w.seq // (wanted * block))) * block  # of a part, which one block would not be worth
    parts = -(-w.seq // length)
    rope = max(16, power_of_two(c.rope))

    def attend(content, position, cached, new):
        accumulated = torch.promote_types(content.dtype, torch.float32)
        sums, largest, total = (
            content.new_empty((w.batch, c.heads, parts, *last), dtype=accumulated)
            for last in ((c.kv_lora,), (), ())
        )
        mixed = torch.empty_like(content)
        attend_part[(parts, c.heads // heads, w.batch)](
            content, position, *cached, *new, sums, largest, total,
            w.seq, length, c.heads,
            w.scale, c.kv_lora, c.rope, rope, heads, block, num_warps=warps, num_stages=2,
        )  # fmt: skip
        join_parts[(w.batch * c.heads, 4)](
            sums, largest, total, mixed, parts, c.kv_lora // 4, power_of_two(parts), 16, num_warps=4
        )
        return mixed

    def decode(x, weights, freqs, cache_ckv, cache_kpe):
        forward_only(x)
        weights = dequantise(w, weights)
        of_keys, of_values = weights["wkv_b"].view(c.heads, c.nope + c.v, c.kv_lora).split([c.nope, c.v], 1)
        content, position = queries(w, x, weights, freqs)
        with stage("absorb"):
            content = torch.einsum("bshd,hdc->bshc", content, of_keys).contiguous()
        new = latents(w, x, weights, freqs)
        with stage("attend"):
            mixed = attend(
                content, position.contiguous(), (cache_ckv, cache_kpe), [n.contiguous() for n in new]
            )
        with stage("absorb"):
            each = torch.einsum("bshc,hdc->bshd", mixed, of_values)
        with stage("output"):
            return linear(each.flatten(2), weights["wo"])

    return decode
