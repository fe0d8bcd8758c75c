"""MSLK's native sparse attention (#296): block means, selected blocks and a window, gated.

Three errors of upstream are avoided: a pick of a future block is dropped instead of read as block 0, only the
selected blocks are attended to, and the window counts the query's own key.
"""

from harness import implementation

from ..workload import AttentionWorkload
from ._torch import Form, attention


@implementation(framework="torch", semantics="nsa_mslk")
def nsa_mslk(w: AttentionWorkload):
    return attention(w, Form())
