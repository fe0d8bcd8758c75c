"""A process of its own, with TRITON_INTERPRET=1: gradients of sparse attention's kernels beside differences.

Arguments: a form, its options and a workload's fields as JSON, and branches. For each branch, whose gate is 1
while the others' are 0, and each input prints how far the gradients of some elements stand from central
differences of the reference in double precision, and how large the largest is, in units of what f32 allows.

A row of an output is Σⱼ Pⱼ·vⱼ with Σⱼ Pⱼ = 1, so that of a loss Σ c·o an element's gradient is at most
2·m·max|k|/√d for queries, where m is the largest |c|·|v|, and for keys m·max|q|/√d, for values max|c|, times
Σₜ Pₜⱼ. A sum of n terms in f32 errs by n·u of its absolute one, u = 2⁻²⁴ (Higham, Accuracy and Stability,
3.1), and a weight exp(s) by what s errs by: the first-order terms of every sum on the way, added.
"""

import json
import sys
from collections.abc import Iterator

import numpy as np
import torch

from impls.attention._inputs_paper import inputs
from impls.attention.family import FAMILY
from impls.attention.fla.triton_nsa_fla import triton_nsa_fla
from impls.attention.mslk.triton_nsa import triton_nsa
from impls.attention.paper.triton_given_blocks import triton_given_blocks
from impls.attention.paper.triton_nsa_paper import triton_nsa_paper
from impls.attention.workload import AttentionWorkload

FORMS = {form.name: form for form in (triton_nsa, triton_nsa_paper, triton_nsa_fla, triton_given_blocks)}
BRANCHES = ("compressed", "selected", "window")
STEP = 1e-6
DIFFERENCE = 1e-8  # what a central difference in f64 errs by: 2⁻⁵³ · |loss| / STEP, and STEP² times a slope
ELEMENTS = 8  # of each input


def arrays_of(w, branch):
    """The inputs in f64, rounded to f32 before; gates are 1 for one branch alone."""
    arrays = inputs(w, np.random.default_rng(7))
    if "gates" in arrays:
        arrays["gates"] = np.zeros_like(arrays["gates"])
        arrays["gates"][..., BRANCHES.index(branch)] = 1
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def allowed(w, arrays, cotangent, readers):
    """What each input's gradients may err by: a number, or one per token and key head."""
    group, scale = w.heads // w.kv_heads, w.head_dim**-0.5
    q, c = (x.double().abs() for x in (arrays["q"], cotangent))
    k, v = (arrays[name].double().abs().repeat_interleave(group, 2) for name in "kv")
    score, most = (torch.einsum("bthd,bjhd->bhtj", x, y).max() for x, y in ((q, k), (c, v)))
    sums = 2 * scale * score * (w.head_dim + 1) + 2 * w.seq + w.seq * group + 3 * w.head_dim + 20
    unit = 2.0**-24 * sums
    return {
        "q": unit * 2 * scale * most * k.max(),
        "k": unit * 2 * scale * most * q.max() * readers,
        "v": unit * c.max() * readers,
        "gates": unit * most,
    }


def elements(shape, rng) -> Iterator[tuple[int, ...]]:
    """The last token's, which lies in a tile that is cut, and others that are drawn."""
    yield (shape[0] - 1, shape[1] - 1, *(size - 1 for size in shape[2:]))
    for _ in range(ELEMENTS - 1):
        yield tuple(int(rng.integers(size)) for size in shape)


def farthest(form, options, w, branch):
    """Per input the largest distance of an element and the largest gradient, in units of what is allowed."""
    arrays = arrays_of(w, branch)
    floating = [name for name, array in arrays.items() if array.is_floating_point()]
    own = {name: array.clone().requires_grad_(name in floating) for name, array in arrays.items()}
    wide = {name: array.double() if name in floating else array for name, array in arrays.items()}
    reference = FAMILY.semantics[form.semantics].reference(w, None)
    answer = form(w, **options)(**own)
    rng = np.random.default_rng(11)
    cotangent = torch.from_numpy(rng.standard_normal(answer.shape, dtype=np.float32))
    answer.backward(cotangent)
    value = wide["v"].clone().requires_grad_()
    reference(**{**wide, "v": value}).sum().backward()
    bounds = allowed(w, arrays, cotangent, value.grad)

    def loss(name, at, step):
        moved = wide[name].clone()
        moved[at] += step
        return (reference(**{**wide, name: moved}) * cotangent.double()).sum()

    worst = {}
    for name in floating:
        bound = (bounds[name] + DIFFERENCE).broadcast_to(arrays[name].shape)
        pairs = []
        for at in elements(arrays[name].shape, rng):
            wanted = (loss(name, at, STEP) - loss(name, at, -STEP)) / (2 * STEP)
            pairs.append((abs(own[name].grad[at] - wanted) / bound[at], abs(wanted) / bound[at]))
        worst[name] = [float(max(each)) for each in zip(*pairs, strict=True)]
    return worst


if __name__ == "__main__":
    form, options, fields, branches = sys.argv[1], *map(json.loads, sys.argv[2:])
    workload = AttentionWorkload(**{"dtype": "f32", **fields})
    print(json.dumps({of: farthest(FORMS[form], options, workload, of) for of in branches}))
