"""Dense decode in jax: `jax.nn.dot_product_attention` of the last token's query with the whole cache."""

from harness import implementation, stage

from .._stage import in_stage
from ..workload import AttentionWorkload
from ._jax_dtypes import refuse_dtype


@implementation(framework="jax", semantics="decode")
def dense_decode_jax(w: AttentionWorkload):
    import jax

    in_stage(w, "decode")
    refuse_dtype(w, "attention/dense_decode")

    def attend(q, k, v):
        with stage("attend"), jax.default_matmul_precision("highest" if w.dtype == "f32" else "default"):
            return jax.nn.dot_product_attention(q, k, v)

    return attend
