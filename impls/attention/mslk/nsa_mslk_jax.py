"""`nsa_mslk` (MSLK #296) in jax: the same formula as one program, with XLA's planned memory and FLOPs.

Tiles are an XLA loop, whose body XLA counts once: its FLOPs and bytes are those of only one tile, but its
temporary memory is complete.
"""

from harness import implementation

from ..workload import AttentionWorkload
from ._jax import attention


@implementation(framework="jax", semantics="nsa_mslk")
def nsa_mslk_jax(w: AttentionWorkload):
    return attention(w)
