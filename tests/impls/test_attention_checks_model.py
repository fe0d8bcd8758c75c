"""A model of attention, key by key, right or with one published mistake, for testing the family's checks.

`mistakes` are names, each with a sentence in `MISTAKES`. Everything is a mask over all keys and plain
autograd, in torch.
"""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest

from impls.attention.family import FAMILY, AttentionWorkload
from tests.impls.torch_case import gradients, run
from tests.impls.trials import trial_of

MISTAKES = {
    "next key": "a query sees the key after its own",
    "block numbers": "block numbers are compared with token numbers",
    "one mean": "all queries of the row are averaged to select, not those of the tile",
    "sentinel": "hidden scores are −1e4",
    "selected sentinel": "blocks of the future score −1e4",
    "nan": "a softmax of nothing is NaN",
    "block 0": "a pick that does not exist is block 0, again",
    "whole blocks": "twice as many blocks are read as were selected: the neighbours with them",
    "one fewer": "a pick is left out",
    "wider": "the window keeps one more key",
    "narrower": "the window keeps one key less",
    "rounded down": "the last tile and the last group are not scored",
    "interleaved": "query head h reads key head h % kv_heads",
    "no share": "without gates branches are added, not averaged",
    "packed tiles": "tiles are cut from the packed row, not from its sequences",
    "one row": "packed sequences see each other",
    "compressed lost": "no gradient through the compressed branch",
    "selected lost": "no gradient through the selected branch",
    "window lost": "no gradient through the window",
    "own tile": "the pullback of the selected branch knows the tile's own blocks alone",
    "all keys": "the pullback of the selected branch knows more keys than were read",
    "last key lost": "the pullback never comes to the last key",
    "neighbour": "a sequence's pullback holds something of the one before it",
}


def trial(w, builder, mode="fwd", *, run=run):
    """The trial of a builder; by default its callables are torch's."""
    cotangent = np.random.default_rng(4).standard_normal((w.batch, w.seq, w.heads, w.head_dim))

    def pull(function, inputs):
        return {"gradients": gradients(function, inputs, cotangent)[1]}

    return trial_of(FAMILY, w, builder, run, pull=pull if mode == "bwd" else None)


def sparse(*mistakes):
    """A builder of MSLK's three branches."""
    assert set(mistakes) <= MISTAKES.keys()
    return lambda w: packed(w, lambda own, at: Sparse(own, frozenset(mistakes), at), mistakes)


def dense(*mistakes):
    assert set(mistakes) <= MISTAKES.keys()
    return lambda w: packed(w, lambda own, _: Dense(own, frozenset(mistakes)), mistakes)


def packed(w, builder, mistakes):
    import torch

    def answer(q, k, v, gates=None, cu_seqlens=None):
        if cu_seqlens is None or "one row" in mistakes:
            return builder(w, 0)(q, k, v, gates)
        results = []
        for begin, end in pairwise(cu_seqlens.tolist()):
            own = dataclasses.replace(w, varlen=False, seq=end - begin)
            shares = None if gates is None else gates[:, begin:end]
            part = builder(own, begin)(*(x[:, begin:end] for x in (q, k, v)), shares)
            if "neighbour" in mistakes and results:
                leak = k[:, begin - 1 : begin].sum() * 0.1
                part = part * (1 + leak - leak.detach())
            results.append(part)
        return torch.cat(results, 1)

    def plain(q, k, v, cu_seqlens=None):
        return answer(q, k, v, None, cu_seqlens)

    return answer if w.gated else plain


class Dense:
    def __init__(self, w, mistakes):
        self.w, self.mistakes = w, mistakes

    def __call__(self, q, k, v, gates=None):
        import torch

        keys = torch.arange(q.shape[1])
        seen = keys <= keys[:, None] + ("next key" in self.mistakes)
        if "last key lost" in self.mistakes:
            k, v = (torch.cat([x[:, :-1], x[:, -1:].detach()], 1) for x in (k, v))
        return self.attend(q, k, v, seen if self.w.causal else torch.ones_like(seen))

    def heads(self, x):
        """[b, keys, kv_heads, d] for every query head."""
        repeats = self.w.heads // self.w.kv_heads
        if "interleaved" in self.mistakes:
            return x.repeat(1, 1, repeats, 1)
        return x.repeat_interleave(repeats, 2)

    def attend(self, q, k, v, times):
        """Softmax over keys that count `times` (or are seen, or not)."""
        import torch

        scores = torch.einsum("bthd,bnhd->bhtn", q, self.heads(k)) / q.shape[-1] ** 0.5
        times = torch.as_tensor(times).to(scores.dtype).expand_as(scores)
        some = (times > 0).any(-1, keepdim=True)
        if "sentinel" in self.mistakes:
            p = torch.softmax(torch.where(times > 0, scores, -1e4), -1)
        elif "nan" in self.mistakes:
            p = torch.softmax(scores + times.log(), -1)
        else:
            p = torch.softmax(scores + torch.where(some, times.log(), 0), -1) * some
        return torch.einsum("bhtn,bnhd->bthd", p, self.heads(v))


class Sparse(Dense):
    def __init__(self, w, mistakes, begin=0):
        super().__init__(w, mistakes)
        self.begin = begin if "packed tiles" in mistakes else 0

    def __call__(self, q, k, v, gates=None):
        import torch

        w, made = self.w, self.mistakes
        t = torch.arange(w.seq)[:, None]
        keys = torch.arange(w.seq)
        means = [torch.stack([part.mean(1) for part in x.split(w.block, 1)], 1) for x in (k, v)]
        starts = torch.arange(means[0].shape[1]) * (1 if "block numbers" in made else w.block)
        past = keys <= t + ("next key" in made)
        width = w.window + ("wider" in made) - ("narrower" in made)
        with torch.no_grad():
            times = self.picked(q, means[0]).repeat_interleave(w.block, -1)[..., : w.seq] * past
        branches = [
            self.attend(q, *means, starts <= t),
            self.attend(q, k, v, times),
            self.attend(q, k, v, past & (keys > t - width)),
        ]
        if "own tile" in made or "all keys" in made:
            near = (keys // w.tile == t // w.tile) if "own tile" in made else torch.ones_like(past)
            other = self.attend(q, k, v, times * near if "own tile" in made else past)
            branches[1] = branches[1].detach() + other - other.detach()
        for i, name in enumerate(("compressed", "selected", "window")):
            if f"{name} lost" in made:
                branches[i] = branches[i].detach()
        if gates is None:
            return sum(branches) / (1 if "no share" in made else 3)
        return sum(branches[i] * gates[..., i, None] for i in range(3))

    def picked(self, q, means):
        """How often each query reads each block, [b, heads, rows, blocks]."""
        import torch

        w, made = self.w, self.mistakes
        result = torch.zeros(q.shape[0], w.heads, w.seq, means.shape[1])
        place = (torch.arange(w.seq) + self.begin) // w.tile
        starts = torch.arange(means.shape[1]) * w.block
        for tile in place.unique().tolist():
            rows = torch.nonzero(place == tile).flatten()
            if "rounded down" in made and len(rows) < w.tile:
                continue
            mean = q.mean(1) if "one mean" in made else q[:, rows].mean(1)
            scores = torch.einsum("bhd,bjhd->bhj", mean, self.heads(means)) / q.shape[-1] ** 0.5
            low = -1e4 if "selected sentinel" in made else -torch.inf
            scores = scores.masked_fill(starts > rows[-1], low)
            values, index = scores.topk(min(w.selected, len(starts)) - ("one fewer" in made), -1)
            real = torch.isfinite(values) | ("block 0" in made)
            index = torch.where(torch.isfinite(values), index, 0)
            times = torch.zeros_like(scores).scatter_add(-1, index, real.to(scores.dtype))
            if "whole blocks" in made:
                times = ((times > 0) | (times.roll(1, -1) > 0)).to(scores.dtype)
            result[:, :, rows] = times[:, :, None].to(result.dtype)
        return result


@pytest.mark.torch
@pytest.mark.parametrize(("semantics", "model"), [("nsa_mslk", sparse()), ("dense", dense())])
@pytest.mark.parametrize("varlen", [False, True])
def test_without_a_mistake_it_is_the_reference(semantics, model, varlen):
    w = AttentionWorkload(seq=96, heads=4, kv_heads=2, head_dim=8, block=8, selected=3, window=20, tile=32)
    w = dataclasses.replace(w, varlen=varlen, dtype="f64")
    inputs = FAMILY.inputs(w, np.random.default_rng(0))
    expected = run(FAMILY.semantics[semantics].reference(w, None), inputs, wide=True)
    np.testing.assert_allclose(run(model(w), inputs), expected, rtol=1e-10, atol=1e-12)
