"""`triton_decode` over a paged cache (arXiv 2309.06180): latents are in pages of `page` tokens.

A table lists each sequence's pages, in a random order, as a server's allocator leaves them. The kernel looks
up the page of each block of keys, and copies nothing into contiguous memory. The difference from
`triton_decode`, which gets the same tokens contiguously, is the cost of paging.
"""

from harness import Unsupported, implementation

from ._cost import keeps_latents
from .workload import MlaWorkload


@implementation(framework="triton", semantics="dense", facts=keeps_latents)
def triton_paged_decode(w: MlaWorkload):
    if not w.page:
        raise Unsupported("page=0: the cache is not in pages; use page=64, or triton_decode")

    from ._triton_decode_launch import decode_over

    attended = decode_over(w)

    def decode(x, weights, freqs, pages_ckv, pages_kpe, page_table):
        return attended(x, weights, freqs, pages_ckv, pages_kpe, page_table)

    return decode
