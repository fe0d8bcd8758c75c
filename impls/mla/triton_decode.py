"""Decode over the compressed cache in two Triton kernels: parts of the keys by themselves, then joined.

All heads share one key, [latent | rotated part]: heads are the rows of the products, and the cache is read
once per 16 or 32 of them. It is not copied to append the new token, which opens the first part. There are so
many parts that about 256 programs share the keys (flash-decoding); a program per group of heads alone would
leave a GPU almost empty where sequences are few. Projections are torch's and the answer is as in `absorb`.

Latents are a power of two wide, as a tile is. In f32 products are IEEE's, without tensor cores: tf32 would
not keep the bound.
"""

from harness import implementation

from ._cost import keeps_latents
from .workload import MlaWorkload


@implementation(framework="triton", semantics="dense", facts=keeps_latents)
def triton_decode(w: MlaWorkload):
    from ._triton_decode_launch import decode_over

    attended = decode_over(w)

    def decode(x, weights, freqs, cache_ckv, cache_kpe):
        return attended(x, weights, freqs, cache_ckv, cache_kpe)

    return decode
