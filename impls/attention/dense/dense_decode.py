"""Dense decode: the last token's query reads the whole cache, in torch's fused kernel.

In a decode all products are small, so sparse attention saves the read of keys and values. Query heads that
share a key head are rows of one product.
"""

from harness import implementation, stage

from .._stage import in_stage
from ..workload import AttentionWorkload


@implementation(framework="torch", semantics="decode")
def dense_decode(w: AttentionWorkload):
    from torch.nn.functional import scaled_dot_product_attention

    in_stage(w, "decode")

    def attend(q, k, v):
        with stage("attend"):
            query = q.unflatten(2, (w.kv_heads, -1))[:, 0]
            result = scaled_dot_product_attention(query, k.transpose(1, 2), v.transpose(1, 2))
            return result.flatten(1, 2)[:, None]

    return attend
