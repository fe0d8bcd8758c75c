"""`nsa_mslk` (MSLK #296) on the CPU by tiles: each thread takes a tile through all branches without waiting.

Compiled by numba, products by BLAS; only forward and only f32. In `nsa_mslk`, torch's attention kernel is
called once for each branch and a few tiles, and its threads wait for each other after every operator.
"""

from importlib.util import find_spec

from harness import Unsupported, implementation

from .._references.attention import refuse
from ..workload import AttentionWorkload


@implementation(framework="torch", semantics="nsa_mslk")
def nsa_mslk_tiles(w: AttentionWorkload):
    refuse(w)
    if w.dtype != "f32":
        raise Unsupported(f"dtype={w.dtype}: products are BLAS's in f32; use dtype=f32 or attention/nsa_mslk")
    if any(find_spec(name) is None for name in ("numba", "threadpoolctl")):
        raise Unsupported("numba or threadpoolctl is not installed; pip install -e '.[numba]'")

    from .._numba_tiles.operator import attention

    return attention(w)
