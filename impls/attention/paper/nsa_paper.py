"""Native sparse attention as published (arXiv 2502.11089): overlapping compression, forced blocks.

`block` 64, `selected` 16 and `window` 512 give the paper's configuration: compression blocks of 32 every 16
tokens; of 64-token blocks the first, the query's own, the one before and 13 more. The probabilities of the
compressed branch select per query and key head, so every query gathers its own keys: some 1000 for each,
whatever the sequence. Means replace the learned MLP.
"""

from harness import implementation

from ..workload import AttentionWorkload
from ._torch import attention


@implementation(framework="torch", semantics="nsa_paper")
def nsa_paper(w: AttentionWorkload):
    return attention(w)
