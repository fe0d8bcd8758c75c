"""Attention: every query reads the keys before it, or a sparse choice of them.

Native sparse attention (arXiv 2502.11089) replaces the read of all keys by three cheaper ones: block means, a
few selected blocks, and a sliding window. MSLK #296 measures a form that differs from the paper's: it
compresses without overlap, selects per tile of 256 queries and per query head, and forces no block. Sparse
and dense attention give different answers, so each is a semantics with its own reference.

The defaults are the configuration of MSLK's chart: 8 heads on 2 key heads of width 128, blocks of 64, 16 of
them selected, a window of 512.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from harness import Family, Semantics, tolerance

from ._bounds import BYTES, FORWARD, GRADIENT
from ._checks.table import CHECKS
from ._cost import (
    dense_cost,
    dsa_cost,
    fla_cost,
    given_cost,
    mslk_cost,
    newest_cost,
    newest_paper_cost,
    of_documents,
    paper_cost,
    sparse_compressed_cost,
    upstream_cost,
)
from ._inputs_paper import complete, inputs, shapes
from ._model import of_model
from ._references.ambiguous import ambiguous
from ._references.attention import dense, nsa, refuse
from ._references.dsa import ambiguous_dsa, dsa, refuse_dsa
from ._references.lists import exact_lists, lists, lists_cost
from ._references.paper import ambiguous_paper, paper, refuse_paper
from ._references.paper_stages import (
    ambiguous_newest,
    given_blocks,
    newest,
    newest_paper,
    refuse_newest_paper,
)
from ._references.stages import ambiguous_picks, compress, equal_picks, gate, select, transposed_lists
from ._references.upstream import refuse_upstream, upstream
from ._stage import only
from ._stage_cost import compress_cost, gate_cost, select_cost, transposed_cost
from .workload import AttentionWorkload

__all__ = ["BYTES", "FAMILY", "FORWARD", "GRADIENT", "AttentionWorkload", "inputs", "shapes"]


def _semantics(
    name: str, reference: Any, cost: Any, refuse: Any, sentence: str, marks: Any = None
) -> Semantics:
    return Semantics(
        name,
        reference,
        tolerance(FORWARD),
        gradient=tolerance(GRADIENT, cancelling=True),
        framework="torch",
        ambiguous=marks,
        sentence=sentence,
        cost=of_documents(cost),
        refuse=refuse,
        layout="[B, T, H, D]",
    )


FAMILY = Family(
    name="attention",
    question="From which length on is sparse attention faster than dense, and what does correctness cost?",
    workload=AttentionWorkload,
    shapes=shapes,
    inputs=inputs,
    semantics={
        "dense": _semantics(
            "dense",
            dense,
            dense_cost,
            only("attention"),
            "softmax attention over all keys up to the query's own",
        ),
        "nsa_mslk": _semantics(
            "nsa_mslk",
            nsa,
            mslk_cost,
            refuse,
            "MSLK's block means, selected blocks and sliding window, gated",
            ambiguous,
        ),
        "nsa_mslk_sparse_compressed": _semantics(
            "nsa_mslk_sparse_compressed",
            partial(nsa, sparse_compressed=True),
            sparse_compressed_cost,
            refuse,
            "like nsa_mslk, but only selected groups of block means are read",
            partial(ambiguous, sparse_compressed=True),
        ),
        "nsa_mslk_upstream": _semantics(
            "nsa_mslk_upstream",
            upstream,
            upstream_cost,
            refuse_upstream,
            "like nsa_mslk, but whole blocks of 128 are read, missing picks are block 0, and window + 1 keys",
            ambiguous,
        ),
        "nsa_paper": _semantics(
            "nsa_paper",
            paper,
            paper_cost,
            refuse_paper,
            "the paper's form: overlapping compression, blocks selected per query and key head, three forced",
            ambiguous_paper,
        ),
        "nsa_fla": _semantics(
            "nsa_fla",
            partial(paper, fla=True),
            fla_cost,
            partial(refuse_paper, fla=True),
            "fla's form: like the paper's, but compression blocks are the selection blocks and never overlap",
            partial(ambiguous_paper, fla=True),
        ),
        "dsa": _semantics(
            "dsa",
            dsa,
            dsa_cost,
            refuse_dsa,
            "softmax attention over the tokens that DeepSeek's lightning indexer picks for each query",
            ambiguous_dsa,
        ),
        "given_blocks": _semantics(
            "given_blocks",
            given_blocks,
            given_cost,
            only("given_blocks"),
            "softmax attention of each query over the tokens of given blocks",
        ),
        "decode": Semantics(
            "decode",
            newest,
            tolerance(FORWARD),
            framework="torch",
            sentence="softmax attention of the last token over all keys",
            cost=newest_cost,
            refuse=only("decode"),
            layout="[B, 1, H, D]",
        ),
        "chunk": Semantics(
            "chunk",
            newest,
            tolerance(FORWARD),
            framework="torch",
            sentence="softmax attention of the last tokens over all keys up to their own",
            cost=newest_cost,
            refuse=only("chunk"),
            layout="[B, T, H, D]",
        ),
        "nsa_paper_decode": Semantics(
            "nsa_paper_decode",
            newest_paper,
            tolerance(FORWARD),
            framework="torch",
            ambiguous=ambiguous_newest,
            sentence="like nsa_paper, for the last token, with block means in the cache",
            cost=newest_paper_cost,
            refuse=refuse_newest_paper,
            layout="[B, 1, H, D]",
        ),
        "block_lists": Semantics(
            "block_lists",
            lists,
            exact_lists(),
            sentence="blocks of 128 tokens with a tile's picks, each once, ascending, and their count",
            cost=lists_cost,
            refuse=only("block_lists"),
        ),
        "transposed_lists": Semantics(
            "transposed_lists",
            transposed_lists,
            exact_lists("tiles"),
            sentence="tiles that read a block of 128 tokens, ascending, and their count, from block lists",
            cost=transposed_cost,
            refuse=only("transposed_lists"),
        ),
        "compress": Semantics(
            "compress",
            compress,
            tolerance(FORWARD),
            gradient=tolerance(GRADIENT),
            framework="torch",
            sentence="means of blocks of keys and of values",
            cost=compress_cost,
            refuse=only("compress"),
        ),
        "select": Semantics(
            "select",
            select,
            equal_picks(),
            framework="torch",
            ambiguous=ambiguous_picks,
            sentence="blocks whose means score highest with a tile's queries on average",
            cost=select_cost,
            refuse=only("select"),
        ),
        "gate": Semantics(
            "gate",
            gate,
            tolerance(FORWARD),
            gradient=tolerance(GRADIENT, cancelling=True),
            framework="torch",
            sentence="the three branches, weighted per query and head, summed",
            cost=gate_cost,
            refuse=only("gate"),
            layout="[B, T, H, D]",
        ),
    },
    cost=of_documents(dense_cost),
    modes=("fwd", "bwd", "fwd_bwd"),
    rows=lambda w: {
        "block_lists": w.heads,
        "transposed_lists": w.heads,
        "select": w.heads,
        "compress": w.seq // w.block,
    }.get(w.stage, w.query_count),
    tile=lambda w: w.tile,
    checks=CHECKS,
    stages=(
        "pad",
        "compress",
        "score",
        "select",
        "gather",
        "mask",
        "compressed",
        "selected",
        "window",
        "gate",
        "attend",
        "query_gradients",
        "key_gradients",
        "transpose",
    ),
    of_model=of_model,
    complete=complete,
)
