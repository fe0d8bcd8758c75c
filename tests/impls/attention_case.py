"""What the tests of attention share: seeded inputs, the contract's verdict, and a softmax written out."""

from functools import partial

import numpy as np

from impls.attention.family import FAMILY
from tests.impls import judgements
from tests.impls.torch_case import run


def drawn(w, gates=None, lengths=None, seed=0):
    """Seeded inputs; `gates` are every query's, `lengths` those of the packed sequences."""
    inputs = dict(FAMILY.inputs(w, np.random.default_rng(seed)))
    if gates is not None:
        inputs["gates"] = np.broadcast_to(np.array(gates, inputs["q"].dtype), inputs["gates"].shape).copy()
    if lengths is not None:
        inputs["cu_seqlens"] = np.cumsum([0, *lengths]).astype(np.int32)
    return inputs


def slices(lengths):
    """Where each of the packed sequences stands."""
    return [slice(end - length, end) for length, end in zip(lengths, np.cumsum(lengths), strict=True)]


verdict = partial(judgements.verdict, FAMILY)


def rows_moved(function, inputs, token, names="kv"):
    """Queries whose results change with a token's keys and values."""
    other = {name: values.copy() for name, values in inputs.items()}
    for name in names:
        other[name][:, token] += 3
    return np.flatnonzero((run(function, inputs) != run(function, other)).any((0, 2, 3)))


def doubles(inputs, *names):
    """The first of a batch of each, in double precision."""
    return (inputs[name][0].astype(np.float64) for name in names)


def softmax(scores):
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def attend(query, keys, values):
    """One query over these keys; 0 where there are none."""
    return softmax(keys @ query / np.sqrt(len(query))) @ values if len(keys) else 0.0


def mslk_by_hand(w, inputs, *, sparse_compressed=False):
    """nsa_mslk of one sequence of any length and one key head, query by query, from its definition."""
    q, k, v, gates = doubles(inputs, "q", "k", "v", "gates")
    k, v = k[:, 0], v[:, 0]
    blocks = range(-(-len(q) // w.block))
    mean_k, mean_v = (np.array([x[j * w.block : (j + 1) * w.block].mean(0) for j in blocks]) for x in (k, v))
    result = np.zeros(q.shape)
    for t, h in np.ndindex(*q.shape[:2]):
        begin = t // w.tile * w.tile
        query = q[begin : begin + w.tile, h].mean(0)
        score = {j: query @ mean_k[j] for j in blocks if j * w.block < begin + w.tile}
        best = sorted(score, key=lambda j: -score[j])[: w.selected]
        groups = {}
        for j, own in score.items():
            groups.setdefault(j // w.compressed_block, []).append(own)
        read = sorted(groups, key=lambda g: -np.mean(groups[g]))[: w.compressed_selected]
        open_ = [j for j in blocks if j * w.block <= t]
        shown = [j for j in open_ if j // w.compressed_block in read or not sparse_compressed]
        chosen = [p for p in range(t + 1) if p // w.block in best]
        window = range(max(0, t - w.window + 1), t + 1)
        for gate, keys, values, at in zip(
            gates[t, h], (mean_k, k, k), (mean_v, v, v), (shown, chosen, window), strict=True
        ):
            result[t, h] += gate * attend(q[t, h], keys[list(at)], values[list(at)])
    return result[None]
