"""Dense in jax by cuDNN's fused attention: `jax.nn.dot_product_attention`, in half precision on a GPU.

It stores no scores, while `dense_jax` stores all. jax asks the GPU for its capability and cuDNN for its
version while it traces the call, so it cannot be compiled for an absent GPU.
"""

from harness import Unsupported, implementation, stage

from .._stage import in_stage
from ..workload import AttentionWorkload


@implementation(framework="jax", semantics="dense")
def dense_jax_cudnn(w: AttentionWorkload):
    import jax
    import jax.numpy as jnp

    in_stage(w, "attention")
    if w.dtype not in {"bf16", "f16"}:
        raise Unsupported(f"dtype={w.dtype}: cuDNN attends in half precision; use bf16, f16 or dense_jax")
    if w.varlen:
        raise Unsupported("varlen=true: its mask would be seq × seq numbers; use varlen=false or dense_jax")
    (device,) = jnp.zeros(()).devices()
    if device.platform != "gpu":
        raise Unsupported("cuDNN needs a GPU even to report what it supports; use attention/dense_jax")

    def attend(q, k, v):
        try:
            with stage("attend"):
                return jax.nn.dot_product_attention(q, k, v, is_causal=w.causal, implementation="cudnn")
        except NotImplementedError as error:  # a width that this GPU's cuDNN does not support
            raise Unsupported(f"{error}; use attention/dense_jax") from None

    return attend
