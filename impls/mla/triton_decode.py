"""Decode over the compressed cache in two Triton kernels: attend to parts of the keys, then merge them.

All heads share one key, [latent | rotated part]: heads are the rows of the products, and the cache is read
once per 16 or 32 of them. It is not copied to append the new token, which begins the first part. About 256
programs divide the keys (flash-decoding). With one program per group of heads, a GPU would be almost idle if
there are few sequences. Projections are torch's and the result is that of `absorb`.

The latent's width must be a power of two, as for all tiles. In f32 products are IEEE's, without tensor cores:
tf32 would exceed the bound.
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
