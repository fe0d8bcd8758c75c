"""Run a Triton top-k with TRITON_INTERPRET=1 in a separate process, with programs in shuffled orders.

Arguments: an implementation of `impls.topk.exact` and the number of orders. For every kind of rows, prints
how often the scores are read (`reads`, in sizes of the input), how many different answers the orders gave,
compared by bits, and how many rows have a wrong selection: the lower columns of equal scores are right.
"""

import json
import sys
from hashlib import sha256
from importlib import import_module

import numpy as np
import torch
from triton.runtime.interpreter import interpreter_builder

from impls.topk.workload import TopkWorkload
from tests.impls.shuffled_programs import run_in_orders

SEQ, ROWS, TOPK = 20_001, 2, 700
WORKLOAD = TopkWorkload(seq=SEQ, rows=ROWS, topk=TOPK, dtype="f32")


def kinds():
    rng = np.random.default_rng(0)
    normal = rng.standard_normal((ROWS, SEQ), dtype=np.float32)
    yield "normal", normal
    yield "tied", np.round(4 * normal) / 4
    yield "equal", np.ones_like(normal)
    yield "masked", np.where(np.arange(SEQ) < TOPK // 2, normal, -np.inf)
    yield "one_bin", 1.75 + rng.random(normal.shape, dtype=np.float32) / 4
    yield "tiny", normal * np.float32(1e-30)


class Reads:
    """Counts the bytes of one tensor that programs load."""

    def __init__(self):
        self.first = self.end = self.bytes = 0
        load = type(interpreter_builder).create_masked_load

        def create_masked_load(pointers, mask, *rest):
            at = pointers.data[mask.data]
            inside = (at >= self.first) & (at < self.end)
            self.bytes += int(inside.sum()) * 4
            return load(interpreter_builder, pointers, mask, *rest)

        interpreter_builder.create_masked_load = create_masked_load

    def of(self, tensor):
        self.first, self.bytes = tensor.data_ptr(), 0
        self.end = self.first + tensor.nbytes


if __name__ == "__main__":
    name, orders = sys.argv[1], int(sys.argv[2])
    select = getattr(import_module(f"impls.topk.exact.{name}"), name)(WORKLOAD)
    reads, found = Reads(), {}
    for kind, rows in kinds():
        scores = torch.from_numpy(rows.astype(np.float32)[None])
        digests, most = set(), 0
        for seed in range(orders):
            run_in_orders(seed)
            reads.of(scores)
            values, indices = select(scores)
            most = max(most, reads.bytes)
            digests.add(sha256(values.numpy().tobytes() + indices.numpy().tobytes()).hexdigest())
        best = np.sort(np.argsort(-rows, axis=-1, kind="stable")[:, :TOPK], axis=-1)
        wrong = (np.sort(indices[0].numpy(), axis=-1) != best).any(axis=-1)
        found[kind] = {"reads": most / scores.nbytes, "answers": len(digests), "wrong": int(wrong.sum())}
    print(json.dumps(found))
