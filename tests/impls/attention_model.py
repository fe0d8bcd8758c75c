"""MSLK's sparse attention and dense attention key by key, right or with published mistakes, in torch.

What references are compared with, and what the checks of the family are tried on. Everything is a mask over
all keys and plain autograd; a mistake is a name, which stands where it is made.
"""

import dataclasses
from itertools import pairwise

UPSTREAM = ("block 0", "wider", "blocks of 128")  # its differences from the formula


def sparse(*mistakes):
    """A builder of MSLK's three branches; of `groups` of means, or with UPSTREAM's differences."""
    return lambda w: packed(w, lambda own, at: Sparse(own, frozenset(mistakes), at), mistakes)


def dense(*mistakes):
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
            times, groups = self.picked(q, means[0])
            times = times.repeat_interleave(w.block, -1)[..., : w.seq] * past
        branches = [
            self.attend(q, *means, (starts <= t) * groups),
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
        """How often each query reads each block, and whether its mean; both [b, heads, rows, blocks]."""
        import torch

        w, made = self.w, self.mistakes
        result = torch.zeros(q.shape[0], w.heads, w.seq, means.shape[1])
        in_groups = torch.ones_like(result)
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
            if "blocks of 128" in made and w.block < 128:
                parts = (times > 0).unflatten(-1, (-1, 128 // w.block))
                times = parts.any(-1, keepdim=True).expand_as(parts).flatten(-2)
            result[:, :, rows] = times[:, :, None].to(result.dtype)
            if "groups" in made:
                in_groups[:, :, rows] = self.best_groups(scores)[:, :, None].to(result.dtype)
        return result, in_groups

    def best_groups(self, scores):
        """Whether each block is of a group whose blocks, as far as they are seen, have the largest mean."""
        import torch

        number = torch.arange(scores.shape[-1]) // self.w.compressed_block
        member = (number == number.unique()[:, None]) & torch.isfinite(scores)[..., None, :]
        sums = torch.where(member, scores[..., None, :], 0).sum(-1)
        average = torch.where(member.any(-1), sums / member.sum(-1), -torch.inf)
        best = average.topk(min(self.w.compressed_selected, average.shape[-1]), -1).indices
        return (number == best[..., None]).any(-2)
