"""What the tests of offsets share: calls, references, verdicts and the golden vectors as batches."""

from dataclasses import replace
from functools import partial

import numpy as np

from impls.offsets.family import FAMILY, zero_empty
from tests.impls import jax_case
from tests.impls.judgements import verdict

KINDS = ("causal", "bottom_right", "padding", "sliding")
LAYOUTS = ("self", "cross", "absent", "intra_padding", "striped")
BLIND = {"bincount", "compact_bincount", "searchsorted"}  # to positions, hence to the kind


def alike(variant, w):
    """The workload whose program serves this one too: a layout is seen by no variant, a kind not by all."""
    return replace(w, layout="self", kind="causal" if variant.name in BLIND else w.kind)


def call(variant, w, inputs, **options):
    """The variant's result on the inputs it names."""
    return jax_case.call(variant, alike(variant, w), inputs, **options)


def reference(w, inputs):
    return FAMILY.semantics["exact"].reference(w, None)(**inputs)


judged = partial(verdict, FAMILY, "exact")


def lists(result):
    """The four parts as lists; an empty length is 0."""
    return [np.asarray(part).tolist() for part in zero_empty(result)]


def met(w, ids_q, ids_kv, pos_q, pos_kv):
    """The (query, key) pairs of one row that attend each other, from the kinds' definitions."""
    length_q, length_kv = ([int((ids == number).sum()) for number in ids] for ids in (ids_q, ids_kv))

    def allowed(i, j):
        distance = pos_q[i] - pos_kv[j]
        return {
            "causal": distance >= 0,
            "bottom_right": length_q[i] - pos_q[i] <= length_kv[j] - pos_kv[j],
            "padding": True,
            "sliding": 0 <= distance < w.window,
        }[w.kind]

    pairs = np.ndindex(len(ids_q), len(ids_kv))
    return [(i, j) for i, j in pairs if ids_q[i] == ids_kv[j] != 0 and allowed(i, j)]
