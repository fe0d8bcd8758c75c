"""What functions of harness/catalog answer, and what they refuse, expression by expression."""

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import ml_dtypes
import numpy as np

from harness import Array, Cost, Evidence, Family, Semantics, Workload, axis, exact, tolerance
from harness.catalog import accelerators, arrays, bounds, contract, models
from harness.catalog.build import with_promise
from harness.catalog.discovery import describe_module
from harness.catalog.family_questions import describe_semantics
from harness.catalog.loading import load
from harness.catalog.models import ModelWorkload
from impls.topk.family import FAMILY as TOPK
from tests.catalog.test_catalog import KNOWN as CATALOG
from tests.catalog.test_catalog import catalog, family
from tests.catalog.test_family_questions import FAMILY as PAIR
from tests.catalog.test_family_questions import MEANING
from tests.catalog.test_own_semantics import HEAD, builder
from tests.goldens import assert_answers


@dataclass(frozen=True)
class Points(Workload):
    seq: int = axis()
    dtype: str = "f32"


def where(name):
    found = accelerators.target(name)
    return found.name, found.kind, found.topology


def judge(held, result, expected, **more):
    return held.judge(Evidence(Points(seq=4), {}, result, expected, **more))


def changed(array, at, value):
    array = array.copy()
    array[at] = value
    return array


def described(semantics):
    with TemporaryDirectory() as folder:
        file = Path(folder, "mine.py")
        file.write_text(HEAD + builder("mine", semantics))
        info = describe_module(load(str(file)), str(file)).implementations["topk/mine"]
    return dict(info.bounds), info.reference_framework, info.promise


KNOWN = {
    **{k: v for m in (accelerators, arrays, bounds, contract, models) for k, v in vars(m).items()},
    "Array": Array,
    "Cost": Cost,
    "Points": Points,
    "Catalog": type(CATALOG),
    "CATALOG": CATALOG,
    "np": np,
    "bfloat16": ml_dtypes.bfloat16,
    "replace": replace,
    "catalog": catalog,
    "family": family,
    "where": where,
    "judge": judge,
    "changed": changed,
    "described": described,
    "with_promise": with_promise,
    "TOPK": TOPK,
    "describe_semantics": describe_semantics,
    "PAIR": PAIR,
    "MEANING": MEANING,
    "exactly": lambda *tree, **more: judge(exact(), *tree, **more),
    "closely": lambda *tree, **more: judge(tolerance({"f32": 1e-3}), *tree, **more),
    "WHOLE": ModelWorkload({"heads": 64, "kv_heads": 4, "topk": 3}, 1, ("heads",), ("kv_heads",)),
    "FAMILY": Family(
        *("points", "?", Points),
        lambda w: {"x": Array((w.seq,), "f32"), "weights": {"up": Array((2, 2), "f32")}},
        lambda w, rng: {},
        {"same": Semantics("same", lambda w, rows: lambda x: x, exact())},
    ),
}


def test_answers_equal_the_golden_file():
    assert_answers("answers_catalog.txt", KNOWN)
