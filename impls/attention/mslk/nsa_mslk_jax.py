"""`nsa_mslk` (MSLK #296) in jax: its formula, for the memory and FLOPs that XLA gives a program.

Tiles are a loop of XLA's, whose body XLA counts once: its FLOPs and bytes leave out all tiles but
one, its temporary memory is whole.
"""

from harness import implementation

from ..workload import AttentionWorkload
from ._jax import attention


@implementation(framework="jax", semantics="nsa_mslk")
def nsa_mslk_jax(w: AttentionWorkload):
    return attention(w)
