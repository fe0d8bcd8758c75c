"""The family's checks: objections to native sparse attention (MSLK #296 and others).

The contracts compare an implementation with its reference on the seeded inputs. The checks use inputs made
for one fault each. If a semantics includes the fault by definition, as MSLK's do, the check only reports its
size.
"""

from __future__ import annotations

from functools import partial

from harness import Check

from ..workload import AttentionWorkload
from .causal import (
    causal_leak,
    causality,
    causality_by_block,
    causality_by_tile,
    finite_sentinel,
    selection_leak,
)
from .gradients import branch_grad_nonzero, gradient_reaches, gradient_reaches_dense
from .packed import varlen_equals_per_sequence, varlen_gradients_apart
from .probe import SELECTED, short, single
from .selection import (
    duplicates_report,
    forced_blocks,
    gqa,
    no_nan_rows,
    odd_blocks,
    superset,
    uniform_gates,
    unique_selected,
    window_width,
)

FORMULA = ("nsa_mslk", "nsa_mslk_sparse_compressed")
UPSTREAM = ("nsa_mslk_upstream",)
MSLK = (*FORMULA, *UPSTREAM)
PAPER = ("nsa_paper",)
NSA = (*MSLK, *PAPER)
EVERY = ("dense", *NSA)
PULLBACK = 1024  # tokens: a forward of copies shows who reads which keys, in seq² time


def _is_packed(w: AttentionWorkload) -> bool:
    return short(w) and w.varlen


def _chooses(w: AttentionWorkload) -> bool:
    return single(w) and w.seq > w.selected * w.block


def _tiles(w: AttentionWorkload) -> bool:
    return single(w) and w.seq > w.tile


def _is_short_pullback(w: AttentionWorkload) -> bool:
    return single(w) and w.seq <= PULLBACK and w.seq > w.block > 1


CHECKS = (
    Check(
        "causality",
        "a token must not change rows before it; sglang's masks opened blocks too early (sglang-jax #1607)",
        causality,
        semantics=("dense", *PAPER, "nsa_fla", "dsa"),
        when=lambda w: short(w) and w.causal,
    ),
    Check(
        "causal_leak",
        "the mean of a query's own block includes tokens after it (MSLK #296)",
        causal_leak,
        semantics=MSLK,
        when=single,
        decides=False,
    ),
    Check(
        "causality_by_block",
        "a mask that counts blocks instead of tokens lets all means in (MSLK #296)",
        causality_by_block,
        semantics=MSLK,
        when=single,
    ),
    Check(
        "causality_by_tile",
        "a tile selects by the mean of its queries, which must exclude later tiles (MSLK #296)",
        causality_by_tile,
        semantics=MSLK,
        when=_tiles,
    ),
    Check(
        "selection_leak",
        "a tile selects by the mean of its queries, so later ones affect earlier ones (MSLK #296)",
        selection_leak,
        semantics=MSLK,
        when=_chooses,
        decides=False,
    ),
    Check(
        "finite_sentinel",
        "scores can be lower than a finite number used for hidden scores, but not than −inf (lattice #6)",
        finite_sentinel,
        semantics=NSA,
        when=single,
    ),
    Check(
        "finite_sentinel_dense",
        "scores can be lower than a finite number used for hidden scores, but not than −inf (lattice #6)",
        partial(finite_sentinel, dense=True),
        semantics=("dense",),
        when=single,
    ),
    Check(
        "no_nan_rows",
        "no block is forced, so early rows of a tile see none of its picks, and a softmax of nothing is NaN"
        " (MSLK #296)",
        no_nan_rows,
        semantics=EVERY,
        when=single,
    ),
    Check(
        "unique_selected",
        "a pick that does not exist became block 0, and counted again in the softmax (MSLK #296)",
        unique_selected,
        semantics=FORMULA,
        when=single,
    ),
    Check(
        "unique_selected_paper",
        "padding with 0 instead of −1 reads block 0 twice (fla's native-sparse-attention, packed sequences)",
        partial(unique_selected, branches=(SELECTED,)),
        semantics=PAPER,
        when=single,
    ),
    Check(
        "duplicates_report",
        "a pick that does not exist is block 0, and counts again in the softmax (MSLK #296)",
        duplicates_report,
        semantics=UPSTREAM,
        when=single,
        decides=False,
    ),
    Check(
        "no_superset",
        "kernels with blocks of 128 also attend to keys next to the selected ones (MSLK #296)",
        superset,
        semantics=FORMULA,
        when=single,
    ),
    Check(
        "superset_report",
        "kernels with blocks of 128 also attend to keys next to the selected ones (MSLK #296)",
        partial(superset, decides=False),
        semantics=UPSTREAM,
        when=single,
        decides=False,
    ),
    Check(
        "forced_blocks",
        "MSLK forces no block; the paper's forced blocks leave no query without a key (MSLK #296)",
        forced_blocks,
        semantics=PAPER,
        when=single,
    ),
    Check(
        "window_width",
        "FlashAttention's window of w has w + 1 keys, including the query's own (MSLK #296)",
        window_width,
        semantics=(*FORMULA, *PAPER),
        when=single,
    ),
    Check(
        "window_report",
        "FlashAttention's window of w has w + 1 keys, including the query's own (MSLK #296)",
        partial(window_width, decides=False),
        semantics=UPSTREAM,
        when=single,
        decides=False,
    ),
    Check(
        "odd_blocks",
        "rounding down the number of groups or tiles loses the last one, or fails (MSLK #296)",
        odd_blocks,
        semantics=NSA,
        when=single,
    ),
    Check(
        "gqa",
        "grouped heads with sparse blocks were unsupported, though they were measured (MSLK #296)",
        gqa,
        semantics=("dense", *MSLK),
        when=single,
    ),
    Check(
        "gqa_paper",
        "grouped heads with sparse blocks were unsupported, though they were measured (MSLK #296)",
        partial(gqa, alone=False),
        semantics=PAPER,
        when=single,
    ),
    Check(
        "uniform_gates",
        "without gates a branch counts a third; upstream tests that to 0.05 (MSLK #296)",
        uniform_gates,
        semantics=NSA,
        when=single,
    ),
    Check(
        "varlen_equals_per_sequence",
        "only floor(N / 256) tiles were scored, and tests drew lengths in multiples of 256 (MSLK #296)",
        varlen_equals_per_sequence,
        semantics=EVERY,
        when=_is_packed,
    ),
    Check(
        "varlen_gradients_apart",
        "a packed backward was tested only for finite gradients (MSLK #296); an old one gives NaN"
        " (fla's native-sparse-attention)",
        varlen_gradients_apart,
        semantics=EVERY,
        when=_is_packed,
        modes=("bwd",),
    ),
    Check(
        "branch_grad_nonzero",
        "a backward used the list of partial blocks instead of full blocks: no gradient (MSLK #296)",
        branch_grad_nonzero,
        semantics=NSA,
        inputs=("gates",),
        when=_is_short_pullback,
        modes=("bwd",),
    ),
    Check(
        "gradient_reaches",
        "without the transposed lists a sparse backward is silently wrong (flash-attention #2623)",
        gradient_reaches,
        semantics=NSA,
        inputs=("gates",),
        when=_is_short_pullback,
        modes=("bwd",),
    ),
    Check(
        "gradient_reaches_dense",
        "a key that is read but gets no gradient is never learned (flash-attention #2623)",
        gradient_reaches_dense,
        semantics=("dense",),
        when=_is_short_pullback,
        modes=("bwd",),
    ),
)
