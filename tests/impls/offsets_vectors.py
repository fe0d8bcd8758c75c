"""The golden vectors G1 … G10 of the offsets family: inputs of one row each.

G2: a gap inside a segment. G3, G4: queries shorter and longer than their keys. G5: an absent
segment. G6, G10: stripes of a ring, one row and two. G7, G8: ids beyond max_segments. G9: no
token at all. `short_stripe`: single tokens far into their segment.
"""

import numpy as np

FIELDS = ("segment_ids_q", "segment_ids_kv", "positions_q", "positions_kv")


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


def padded(inputs, seq):
    """The row with padding behind it, in id and position."""
    return {name: np.pad(part, ((0, 0), (0, seq - part.shape[1]))) for name, part in inputs.items()}


VECTORS = {  # name: (max_segments, inputs)
    "G1": (3, row("1 1 1 0 2 2 2 2 0 0", "1 1 1 0 2 2 2 2 0 0")),
    "G2": (3, row("1 1 0 1 2 2", "1 1 0 1 2 2")),
    "G3": (2, row("1 1 1 0 2 2 2 2 0 0 0 0 0 0 0 0", "1 1 1 1 0 0 2 2 2 2 2 2 2 2 2 2")),
    "G4": (2, row("1 1 1 1 2 2", "1 1 2 2 2 2")),
    "G5": (3, row("1 1 2 2 3 3", "1 1 3 3 0 0")),
    "G6": (2, row("1 1 2 2", "1 1 2 2", "0 2 0 2", "1 3 1 3")),
    "G7": (3, row("4 4 4 0 0 5 5 5 6 6 0 0", "4 4 4 0 0 5 5 5 6 6 0 0")),
    "G8": (2, row("1 2 3 4", "1 2 3 4")),
    "G9": (3, row("0 0 0 0 0 0", "0 0 0 0 0 0")),
    "G10a": (3, row("1 1 2 2 3 3 3 3", "1 1 2 2 3 3 3 3", "0 2 0 2 0 2 4 6", "1 3 1 3 1 3 5 7")),
    "G10b": (3, row("1 1 1 1 1 1 2 2", "1 1 1 1 1 1 2 2", "0 2 4 6 8 10 0 2", "1 3 5 7 9 11 1 3")),
    "short_stripe": (2, row("1 2", "1 2", "2 2", "3 3")),
}
