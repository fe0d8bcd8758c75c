"""Forms of attention written out query by query, right or with one published mistake; and seeded inputs.

A form takes a workload, the inputs of one sequence by name and a mistake. It returns what a query reads: for
a token and a head, the keys and values of each branch. An empty `mistake` means none.
"""

import dataclasses
from functools import cache, partial

import numpy as np

from impls.attention.family import FAMILY, AttentionWorkload
from tests.impls import judgements

SMALL = AttentionWorkload(
    seq=640, heads=4, kv_heads=2, head_dim=16, block=16, selected=4, window=70,
    compressed_block=8, compressed_selected=2,
)  # fmt: skip


def of(w=SMALL, **fields):
    return dataclasses.replace(w, **fields)


def drawn(w, gates=None, lengths=None, seed=0):
    """Seeded inputs; `gates` are every query's, `lengths` those of the packed sequences."""
    inputs = judgements.drawn(FAMILY, w, seed)
    if gates is not None:
        inputs["gates"] = np.broadcast_to(np.array(gates, inputs["q"].dtype), inputs["gates"].shape).copy()
    if lengths is not None:
        inputs["cu_seqlens"] = np.cumsum([0, *lengths]).astype(np.int32)
    return inputs


verdict = partial(judgements.verdict, FAMILY)


def slices(lengths):
    """The slice of each packed sequence."""
    return [slice(end - length, end) for length, end in zip(lengths, np.cumsum(lengths), strict=True)]


def softmax(scores):
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def by_hand(form, w, inputs, mistake=""):
    """The result of a form in double precision, each packed sequence computed independently."""
    lengths = np.diff(inputs["cu_seqlens"]) if "cu_seqlens" in inputs else [w.seq]
    results = []
    for part in slices(lengths):
        own = {
            name: array[0][..., part, :] if name == "picks" else array[0][part]
            for name, array in inputs.items()
            if name != "cu_seqlens"
        }
        own = {name: array if name == "picks" else array.astype(np.float64) for name, array in own.items()}
        results.append(attend_sequence(w, own, form(w, own, mistake)))
    return np.concatenate(results)[None]


def attend_sequence(w, inputs, read):
    q = inputs["q"]
    shares = inputs.get("gates", np.ones((*q.shape[:2], 1)))
    result = np.zeros(q.shape)
    for t, h in np.ndindex(*q.shape[:2]):
        for share, (keys, values) in zip(shares[t, h], read(t, h), strict=True):
            if len(keys):
                result[t, h] += share * (softmax(keys @ q[t, h] / np.sqrt(w.head_dim)) @ values)
    return result


def means_of(inputs, starts, length):
    """Means of keys and of values over each of these spans; the last span may be shorter."""
    made = ([inputs[name][i : i + length].mean(0) for i in starts] for name in "kv")
    return tuple(np.reshape(each, (len(starts), *inputs["k"].shape[1:])) for each in made)


def reader(w, inputs, tokens, means=None):
    """What a token and a head read: means, if there are any, and the tokens of each other branch."""
    group = w.heads // w.kv_heads

    def read(t, h):
        kv = h // group
        pairs = [(of[0][list(at), kv], of[1][list(at), kv]) for of, at in means(t, h)] if means else []
        return pairs + [(inputs["k"][list(at), kv], inputs["v"][list(at), kv]) for at in tokens(t, h)]

    return read


def given_blocks(w, inputs, mistake):
    def tokens(t, h):
        return [[s for s in range(t + 1) if s // w.block in inputs["picks"][h // (w.heads // w.kv_heads), t]]]

    return reader(w, inputs, tokens)


def dsa(w, inputs, mistake):
    """The published score. Mistakes: no ReLU, unsigned weights, future, one less, previous query's."""
    scale = w.indexer_heads**-0.5 * w.indexer_dim**-0.5

    @cache
    def picked(t):
        last = len(inputs["q"]) if mistake == "future" else t + 1
        likes = inputs["index_k"][:last] @ inputs["index_q"][t].T
        weights = abs(inputs["index_w"][t]) if mistake == "unsigned weights" else inputs["index_w"][t]
        score = (likes if mistake == "no ReLU" else np.maximum(likes, 0)) @ (weights * scale)
        return np.argsort(-score, kind="stable")[: w.topk - (mistake == "one less")]

    return reader(w, inputs, lambda t, h: [picked(max(t - (mistake == "previous query's"), 0))])


def paper(w, inputs, mistake, *, fla=False):
    """XunhaoLai's indices, or fla's whole blocks.

    Mistakes: leak, no forced blocks, a finite sentinel, block 0 for no pick, a selection per head, and scores
    as printed.
    """
    q, seq, group = inputs["q"], len(inputs["q"]), w.heads // w.kv_heads
    length, stride = (w.block, w.block) if fla else (w.kernel or w.block // 2, w.stride or w.block // 4)
    starts = range(0, seq - length + 1, stride)
    means = means_of(inputs, starts, length)
    steps = [m + n for m in range(w.block // stride) for n in range(length // stride)]

    def visible_blocks(t):
        return [i for i, start in enumerate(starts) if start + (mistake != "leak") * (length - 1) <= t]

    @cache
    def selected(t, heads):
        own, masses = t // w.block, np.zeros(len(starts))
        for h in heads:
            if visible_blocks(t):
                masses[visible_blocks(t)] += softmax(
                    means[0][visible_blocks(t), h // group] @ q[t, h] / np.sqrt(w.head_dim)
                )
        score = {}
        for j in range(own + 1):
            first = w.block // stride * j
            shift = length // stride - 1
            at = [first - n if mistake == "printed" else first + n - shift for n in steps]
            score[j] = sum(masses[i] for i in at if 0 <= i < len(starts))
        forced = {*range(min(w.init_blocks, own + 1)), *range(max(own - w.local_blocks + 1, 0), own + 1)}
        forced = set() if mistake == "no forced blocks" else forced
        return forced | {*sorted(score.keys() - forced, key=lambda j: -score[j])[: w.selected - len(forced)]}

    def read_means(t, h):
        if mistake == "a finite sentinel" and not visible_blocks(t):
            return [((0 * means[0], means[1]), range(len(starts)))]
        return [(means, visible_blocks(t))]

    def tokens(t, h):
        first = h // group * group
        picks = selected(t, (h,) if mistake == "a selection per head" else (*range(first, first + group),))
        missing = (w.selected - len(picks)) * (mistake == "block 0 for no pick")
        chosen = [s for s in range(t + 1) if s // w.block in picks]
        return chosen + missing * [s for s in range(w.block) if s <= t], range(
            max(0, t - w.window + 1), t + 1
        )

    return reader(w, inputs, tokens, read_means)
