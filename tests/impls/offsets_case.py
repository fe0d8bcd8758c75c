"""Shared code of the offsets tests: calls, references, judgements, and rows written out."""

from dataclasses import replace
from functools import partial

import numpy as np

from impls.offsets._checks_golden import FIELDS
from impls.offsets.family import FAMILY, zero_empty
from tests.impls import jax_case
from tests.impls.judgements import verdict

KINDS = ("causal", "bottom_right", "padding", "sliding")
LAYOUTS = ("self", "cross", "absent", "intra_padding", "striped")
BLIND = {"bincount", "compact_bincount", "searchsorted"}  # to positions, and so to the kind


def call(variant, w, inputs, **options):
    """The implementation's result. Programs are shared by all layouts, which no implementation reads."""
    alike = replace(w, layout="self", kind="causal" if variant.name in BLIND else w.kind)
    return jax_case.call(variant, alike, inputs, **options)


def reference(w, inputs):
    return FAMILY.semantics["exact"].reference(w, None)(**inputs)


judged = partial(verdict, FAMILY, "exact")


def spelled(result, row=0):
    """One row's four parts as in offsets.yaml; an empty length is 0."""
    kept = []
    for part, empty in zip(zero_empty(result), (0, 0, -1, -1), strict=True):
        numbers = [int(number) for number in part[row]]
        while numbers and numbers[-1] == empty:
            numbers.pop()
        kept.append(" ".join(map(str, numbers)))
    return " ".join(" | ".join(kept).split())


def written(text):
    """The four inputs of a row, written `ids of queries / of keys / positions of both`, separated by /."""
    parts = [np.array([part.split()], np.int32) for part in text.split("/")]
    return dict(zip(FIELDS, parts, strict=True))


def met(w, ids_q, ids_kv, pos_q, pos_kv):
    """The allowed (query, key) pairs of one row, from the kinds' definitions."""
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
