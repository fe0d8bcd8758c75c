"""The processes that measure load it: tables of numbers in Python's own arrays."""

from array import array

import numpy as np
from seqsweep import Unsupported
from seqsweep.frameworks import Framework, Prepared, Static


class Table:
    """Numbers, their shape and their dtype."""

    def __init__(self, values, shape, dtype):
        self.values, self.shape, self.dtype = values, shape, dtype


def each(tree, change):
    if isinstance(tree, dict):
        return {name: each(branch, change) for name, branch in tree.items()}
    return tuple(each(part, change) for part in tree) if isinstance(tree, (tuple, list)) else change(tree)


def to_table(numbers):
    flat = np.ascontiguousarray(numbers)
    return Table(array(flat.dtype.char, flat.tobytes()), flat.shape, flat.dtype)


def to_numpy(table):
    if type(table) is not Table:
        raise TypeError(f"the callable returned {type(table).__name__}; return tables")
    return np.frombuffer(table.values, table.dtype).reshape(table.shape)


class Tables(Framework):
    def start(self, device, threads, *, wide):
        if device != "cpu":
            raise Unsupported(f"tables lie on the cpu, not on {device}; use --device cpu")

    def prepare(self, function, names, shapes, mode, limits):
        if mode != "fwd":
            raise Unsupported(f"tables have no {mode}; use mode fwd")

        def bind(inputs, cotangent):
            return lambda: function(**{name: inputs[name] for name in names})

        return Prepared(bind, Static.none("tables are not planned"))

    def put(self, tree):
        return each(tree, to_table)

    def refill(self, target, source):
        def change(table, numbers):
            table.values[:] = to_table(numbers).values

        for name, table in target.items():
            change(table, source[name])
        return target

    def get(self, tree):
        return each(tree, to_numpy)

    def sync(self, result):
        """A call has computed its result when it returns."""
