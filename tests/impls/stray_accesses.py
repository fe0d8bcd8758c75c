"""Run attention with TRITON_INTERPRET=1 in a separate process, and count accesses outside a launch's tensors.

A GPU need not notice such an access, and a value that no row sees changes no result. Argument: cases in JSON,
as [implementation, workload, options]. Prints how many elements were out of bounds, by case and kernel.
"""

import json
import sys
from collections import Counter

import numpy as np
import torch
from triton.runtime import interpreter

from impls.attention._inputs import inputs
from impls.attention.workload import AttentionWorkload
from tests.impls.variants import ATTENTION

builder = interpreter.interpreter_builder
strays = Counter()
tensors = []  # first and last address of each, of the present launch
kernel = []


def guard(name, pointers_at, mask_at):
    """From here on an access through the builder's method skips stray elements, and counts them."""
    method = getattr(builder, name)

    def access(*args):
        pointers, mask = args[pointers_at].data, args[mask_at]
        inside = np.zeros(pointers.shape, bool)
        for first, last in tensors:
            inside |= (pointers >= first) & (pointers <= last)
        wanted = np.broadcast_to(mask.data, pointers.shape)
        strays[kernel[-1]] += int((wanted & ~inside).sum())
        args = [*args]
        args[mask_at] = interpreter.TensorHandle(wanted & inside, mask.dtype)
        return method(*args)

    setattr(builder, name, access)


def note_launches():
    convert = interpreter.GridExecutor._init_args_hst

    def note(self, *args):
        found = convert(self, *args)
        kernel.append(self.fn.__name__)
        given = [each for each in (*found[0], *found[1].values()) if hasattr(each, "data_ptr")]
        tensors[:] = [
            (each.data_ptr(), each.data_ptr() + each.nbytes - each.element_size()) for each in given
        ]
        return found

    interpreter.GridExecutor._init_args_hst = note


def strays_of(name, fields, options):
    strays.clear()
    w = AttentionWorkload(**fields)
    arrays = inputs(w, np.random.default_rng(0))
    given = {each: torch.from_numpy(array).requires_grad_() for each, array in arrays.items()}
    getattr(ATTENTION, name)(w, **options)(**given).sum().backward()
    return {name: count for name, count in strays.items() if count}


if __name__ == "__main__":
    guard("create_masked_load", 0, 1)
    guard("create_masked_store", 0, 2)
    guard("create_atomic_rmw", 1, 3)
    note_launches()
    print(json.dumps([strays_of(*case) for case in json.loads(sys.argv[1])]))
