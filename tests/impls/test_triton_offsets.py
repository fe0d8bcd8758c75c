"""`offsets/triton_segments`, interpreted: every kind and layout, and the rows that seeded ones never are."""

import os
import subprocess
import sys

import pytest

from tests.impls.interpreted import KERNELS, ROOT

pytestmark = KERNELS

BEGIN = """
import os, sys
os.environ["TRITON_INTERPRET"] = "1"
import numpy as np, torch
from impls.offsets._checks_golden import VECTORS, answer_of, difference, inputs_of, workload_of
from impls.offsets._inputs import inputs
from impls.offsets.reference import pairwise
from impls.offsets.triton_segments import triton_segments
from impls.offsets.workload import OffsetsWorkload

KINDS = ("causal", "bottom_right", "padding")

def answers(w, arrays):
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    return [part.numpy() for part in triton_segments(w)(**tensors)]

def hold(w, arrays):
    text = difference(answers(w, arrays), pairwise(w, None)(**arrays))
    if text:
        sys.exit(f"{w}: {text}")
"""
LAYOUTS = """
for kind in KINDS:
    for layout in ("self", "cross", "absent", "intra_padding", "striped"):
        w = OffsetsWorkload(batch=2, seq=2500, kind=kind, layout=layout)
        hold(w, inputs(w, np.random.default_rng(1)))
"""
VECTORS = """
for kind in KINDS:
    w = workload_of(OffsetsWorkload(seq=16, kind=kind), len(VECTORS))
    parts = answers(w, inputs_of(tuple(VECTORS)))
    for number, name in enumerate(VECTORS):
        text = difference([part[number] for part in parts], answer_of(name, kind))
        if text:
            sys.exit(f"{kind}, {name}: {text}")
"""
GAPS = """
random = np.random.default_rng(0)
arrays = {}
for side, length in (("q", 16), ("kv", 22)):
    ids = np.repeat(np.arange(1, 41, dtype=np.int32), length)
    ids[random.random(ids.shape) < 0.3] = 0
    arrays[f"segment_ids_{side}"] = ids[None]
    arrays[f"positions_{side}"] = np.tile(np.arange(length, dtype=np.int32), 40)[None]
for kind in KINDS:
    hold(OffsetsWorkload(seq=640, seq_kv=880, layout="cross", kind=kind, max_segments=35), arrays)
"""


@pytest.mark.full
@pytest.mark.parametrize("scene", [LAYOUTS, VECTORS, GAPS], ids=["layouts", "vectors", "gaps"])
def test_lengths_and_offsets_are_the_pairwise_masks(scene):
    """`GAPS`: more runs than a tile of the kernel has, more segments than places, sides of other lengths."""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + scene],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
