"""`nsa_mslk` that saves only its inputs and its selection, and recomputes each branch in the backward.

MSLK #296's own backward is of this kind: one branch at a time is computed, differentiated and freed, so two
branches' results never exist at once. The forward is that of `nsa_mslk` without a backward.
"""

from harness import implementation

from ..workload import AttentionWorkload
from ._recompute import saved_bytes
from ._torch import RECOMPUTED, Form, attention


@implementation(framework="torch", semantics="nsa_mslk", facts=saved_bytes)
def nsa_mslk_recompute(w: AttentionWorkload):
    return attention(w, Form(whole=RECOMPUTED))
