"""Every registered variant under every kind and layout, two rows each: right, refused or meant to fail."""

import inspect
import pkgutil
from dataclasses import replace
from functools import cache
from importlib import import_module

import numpy as np
import pytest

import impls.offsets
from harness import Unsupported
from harness.catalog.implementation import Implementation
from harness.catalog.known_frameworks import traits_of
from impls.offsets.family import FAMILY, OffsetsWorkload
from tests.impls.offsets_case import BLIND, KINDS, LAYOUTS, call, judged

SEEDS = range(3)
W = OffsetsWorkload(batch=2, seq=256, max_segments=16, window=9)

# A mark for each of LAYOUTS: right (.), meant to fail (x), refused (-).
EVERY = dict.fromkeys(KINDS, ".....")
NO_WINDOW = EVERY | {"sliding": "-----"}
COUNTS = {"causal": ".xx.x", "bottom_right": "..x.x", "padding": "..x..", "sliding": ".xx.x"}
MARKS = {
    "mask_quadratic": EVERY,
    "mask_blocked": EVERY,
    "torch_unique": EVERY,
    "run_length": NO_WINDOW,
    "segment_min": NO_WINDOW,
    "onehot_minmax": NO_WINDOW,
    "bincount": COUNTS,
    "compact_bincount": COUNTS,
    "searchsorted": {"causal": ".xxxx", "bottom_right": "..xxx", "padding": "..xx.", "sliding": ".xxxx"},
    "fast_causal": dict.fromkeys(KINDS, "-----") | {"causal": ".xx.x"},
}

pytestmark = [pytest.mark.jax, pytest.mark.torch]


def registered():
    """Those that run in this process: kernels have an interpreter's, and test_*_offsets.py."""
    modules = [
        import_module(f"impls.offsets.{info.name}")
        for info in pkgutil.iter_modules(impls.offsets.__path__)
        if not info.name.startswith("_")
    ]
    found = {
        thing for module in modules for thing in vars(module).values() if isinstance(thing, Implementation)
    }
    here = [variant for variant in found if not traits_of(variant.framework).interpreted_on]
    return {variant.name: variant for variant in here if variant.semantics == "exact"}


VARIANTS = registered()


@cache
def drawn(layout, seed):
    return FAMILY.inputs(replace(W, layout=layout), np.random.default_rng([seed, 7]))


def answer(name, kind, inputs):
    return call(VARIANTS[name], replace(W, kind=kind), inputs)


def mark(name, kind, layout, seed):
    """What becomes of a variant there, as MARKS has it."""
    try:
        VARIANTS[name](replace(W, kind=kind, layout=layout))
    except Unsupported:
        return "-"
    result = answer(name, kind, drawn(layout, seed))
    assert [part.shape for part in result] == [(2, 16), (2, 16), (2, 17), (2, 17)]
    assert {part.dtype for part in result} == {np.dtype(np.int32)}
    return "." if judged(replace(W, kind=kind), drawn(layout, seed), result).passed else "x"


def test_every_registered_variant_has_its_marks():
    assert VARIANTS.keys() == MARKS.keys()


@pytest.mark.parametrize("name", MARKS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_and_layout_is_right_refused_or_meant_to_fail(name, kind):
    for seed in SEEDS:
        assert "".join(mark(name, kind, layout, seed) for layout in LAYOUTS) == MARKS[name][kind]
    if MARKS[name][kind] == "-----":
        with pytest.raises(Unsupported, match=f"{kind}.*; use"):
            VARIANTS[name](replace(W, kind=kind))
        return
    expect = VARIANTS[name].expect
    meant = [bool(expect and expect.when(replace(W, kind=kind, layout=layout))) for layout in LAYOUTS]
    assert meant == [one == "x" for one in MARKS[name][kind]]


@pytest.mark.parametrize("name", sorted(BLIND))
def test_what_does_not_read_positions_takes_two_inputs(name):
    """Why one compiled program serves every kind here."""
    for kind in KINDS:
        parameters = inspect.signature(VARIANTS[name](replace(W, kind=kind))).parameters
        assert set(parameters) == {"segment_ids_q", "segment_ids_kv"}
