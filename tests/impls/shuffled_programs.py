"""A process of its own, with TRITON_INTERPRET=1: sparse attention whose programs run in shuffled orders.

A GPU promises no order of the programs of a grid, the interpreter always has the same one. Arguments: a form,
its options as JSON, and how many orders. Prints how many different outputs and gradients they gave, by bits.
"""

import json
import sys
from hashlib import sha256
from itertools import product
from random import Random

import numpy as np
import torch
from triton.runtime.interpreter import interpreter_builder

from impls.attention._inputs import inputs
from impls.attention.mslk.triton_nsa import triton_nsa
from impls.attention.paper.triton_nsa_paper import triton_nsa_paper
from impls.attention.workload import AttentionWorkload

FORMS = {"triton_nsa": triton_nsa, "triton_nsa_paper": triton_nsa_paper}
WORKLOAD = AttentionWorkload(
    seq=48, heads=4, kv_heads=2, head_dim=16, block=8, tile=16, window=13, selected=3, dtype="f32"
)


def run_in_orders(seed):
    """From here on a grid's programs run in an order that the seed decides."""
    random = Random(seed)
    places = {}
    tell = type(interpreter_builder).set_grid_idx

    def set_grid_idx(x, y, z):
        sizes = interpreter_builder.grid_dim
        if (x, y, z) == (0, 0, 0):  # a launch begins
            order = list(product(*map(range, sizes)))
            places.update(zip(order, random.sample(order, len(order)), strict=True))
        tell(interpreter_builder, *places[x, y, z])

    interpreter_builder.set_grid_idx = set_grid_idx


def digests_of_a_call(attend):
    rng = np.random.default_rng(0)
    tensors = [torch.from_numpy(array).requires_grad_() for array in inputs(WORKLOAD, rng).values()]
    answer = attend(*tensors)
    answer.backward(torch.from_numpy(rng.standard_normal(answer.shape, dtype=np.float32)))
    parts = (answer, *(tensor.grad for tensor in tensors))
    return [sha256(part.detach().numpy().tobytes()).hexdigest() for part in parts]


if __name__ == "__main__":
    form, options, orders = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
    attend = FORMS[form](WORKLOAD, **options)
    results = []
    for seed in range(orders):
        run_in_orders(seed)
        results.append(digests_of_a_call(attend))
    names = ["output", *inputs(WORKLOAD, np.random.default_rng(0))]
    print(
        json.dumps(
            {name: len(set(each)) for name, each in zip(names, zip(*results, strict=True), strict=True)}
        )
    )
