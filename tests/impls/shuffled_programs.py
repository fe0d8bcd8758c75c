"""Run sparse attention with TRITON_INTERPRET=1 in a separate process, with programs in shuffled orders.

A GPU promises no order of the programs of a grid, but the interpreter always uses the same order. Arguments:
a form, "lists" or "atomic", and the number of orders. Prints how many different outputs and gradients they
gave, compared by bits.
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
    """From here on the seed decides the order of a grid's programs."""
    random = Random(seed)
    places = {}
    tell = type(interpreter_builder).set_grid_idx

    def set_grid_idx(x, y, z):
        if (x, y, z) == (0, 0, 0):  # a launch begins
            order = list(product(*map(range, interpreter_builder.grid_dim)))
            places.update(zip(order, random.sample(order, len(order)), strict=True))
        tell(interpreter_builder, *places[x, y, z])

    interpreter_builder.set_grid_idx = set_grid_idx


def digests_of_a_call(attend):
    rng = np.random.default_rng(0)
    tensors = {
        name: torch.from_numpy(array).requires_grad_() for name, array in inputs(WORKLOAD, rng).items()
    }
    answer = attend(**tensors)
    answer.backward(torch.from_numpy(rng.standard_normal(answer.shape, dtype=np.float32)))
    parts = {"output": answer, **{name: tensor.grad for name, tensor in tensors.items()}}
    return {name: sha256(part.detach().numpy().tobytes()).hexdigest() for name, part in parts.items()}


if __name__ == "__main__":
    form, atomic, orders = sys.argv[1], sys.argv[2] == "atomic", int(sys.argv[3])
    attend = FORMS[form](WORKLOAD, atomic=atomic)
    results = []
    for seed in range(orders):
        run_in_orders(seed)
        results.append(digests_of_a_call(attend))
    print(json.dumps({name: len({each[name] for each in results}) for name in results[0]}))
