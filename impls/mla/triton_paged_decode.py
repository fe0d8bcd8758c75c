"""`triton_decode` over a paged cache (arXiv 2309.06180): latents lie in pages of `page` tokens.

A table names each sequence's pages, in a drawn order, as a server's allocator leaves them. A key's place is
looked up per block of keys, and nothing is copied to lie in a row. Beside `triton_decode`, which gets the
same tokens in one piece, it says what paging costs.
"""

from harness import Unsupported, implementation

from ._cost import keeps_latents
from .workload import MlaWorkload


@implementation(framework="triton", semantics="dense", facts=keeps_latents)
def triton_paged_decode(w: MlaWorkload):
    if not w.page:
        raise Unsupported("page=0: no cache lies in pages; use page=64, or triton_decode")

    from ._triton_decode_launch import decode_over

    attended = decode_over(w)

    def decode(x, weights, freqs, pages_ckv, pages_kpe, page_table):
        return attended(x, weights, freqs, pages_ckv, pages_kpe, page_table)

    return decode
