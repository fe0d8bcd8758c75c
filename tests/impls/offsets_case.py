"""What the tests of offsets share: calls, references, verdicts and the golden vectors as batches."""

from dataclasses import replace

import numpy as np

from harness import Evidence
from impls.offsets.family import FAMILY, zero_empty
from tests.impls import jax_case

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


def judged(w, inputs, result):
    return FAMILY.semantics["exact"].contract.judge(Evidence(w, inputs, result, reference(w, inputs)))


def lists(result):
    """The four parts as lists; an empty length is 0."""
    return [np.asarray(part).tolist() for part in zero_empty(result)]
