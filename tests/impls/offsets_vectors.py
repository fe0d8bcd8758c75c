"""Packed rows by hand: of one's own, and the golden vectors of the family's checks, unpadded."""

import numpy as np

from impls.offsets._checks_golden import FIELDS, VECTORS


def numbers(text):
    return [int(part) for part in text.split()]


def position(ids):
    """Positions within the segment, counting on through padding."""
    out, current, start = [], 0, 0
    for index, segment in enumerate(ids):
        if segment not in {0, current}:
            current, start = segment, index
        out.append(index - start)
    return out


def row(q, kv, pos_q="", pos_kv=""):
    """One row's inputs, [1, seq]; positions are derived where not given."""
    ids = numbers(q), numbers(kv)
    positions = numbers(pos_q) or position(ids[0]), numbers(pos_kv) or position(ids[1])
    return {name: np.array([part], np.int32) for name, part in zip(FIELDS, (*ids, *positions), strict=True)}


def golden(name):
    """One of the vectors, no longer than its longer side."""
    vector = VECTORS[name]
    kv = vector.kv or vector.q
    short = len(numbers(kv)) - len(numbers(vector.q))
    return row(vector.q + " 0" * short, kv, vector.positions_q, vector.positions_kv)
