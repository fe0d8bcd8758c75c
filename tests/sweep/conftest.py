"""A small catalog: what plugins and the project's own families look like to the planner."""

from pathlib import Path

import pytest

from harness.catalog.catalog import Catalog, FamilyInfo, ImplementationInfo
from harness.core.workload import Field
from harness.sweep.config import load


def family(name, fields, modes=("fwd",)):
    return FamilyInfo(name, f"what is {name}?", tuple(fields), ("exact",), modes, f"impls/{name}/family.py")


def implementation(id_, framework="jax", options=()):
    where = f"impls.{id_.replace('/', '.')}", f"impls/{id_}.py"
    return ImplementationInfo(
        id_, framework, "exact", tuple(options), "One way.", None, *where, 1, "sha256:0"
    )


def number(name, default=None, **more):
    return Field(name, "int", required=default is None, default=default, **more)


def option(name, default=None):
    return Field(name, "int", required=default is None, default=default, minimum=0)


def catalog_of(families, implementations):
    return Catalog({f.name: f for f in families}, {i.id: i for i in implementations})


MASK = family(
    "mask",
    [
        number("batch", 1), number("rows"), number("seq"), number("topk", 2048),
        Field("dtype", "str", required=False, default="f32", choices=("f32", "bf16")),
        number("tile", 128, later=True),
    ],
)  # fmt: skip
TOPK = family(
    "topk",
    [
        number("seq"),
        number("k"),
        Field("recall", "float", required=False, default=0.95),
        Field("sorted", "bool", required=False, default=True),
        Field("window", "int", required=False, default=None, optional=True),
    ],
    modes=("fwd", "bwd", "fwd_bwd"),
)


def planted_catalog():
    return catalog_of(
        [MASK, TOPK],
        [
            implementation("mask/broadcast"),
            implementation("mask/scatter"),
            implementation("mask/rowwise", framework="numpy"),
            implementation("topk/exact"),
            implementation("topk/sort", framework="torch"),
            implementation("topk/two_stage", options=[option("buckets", 4096), option("keep", 2)]),
        ],
    )


@pytest.fixture
def catalog():
    return planted_catalog()


def planted_plugin():
    """What --plugin files bring: an implementation of mask, and families of their own."""
    own = (
        family("scan", [number("seq"), number("width", 8)]),
        family("sort", [number("seq"), number("depth")]),
    )
    names = ("mask/mine", "scan/loop", "scan/tree", "sort/bitonic")
    return catalog_of(own, map(implementation, names))


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """Write a bench.yaml into the current folder and read it."""
    monkeypatch.chdir(tmp_path)

    def write(text):
        Path("bench.yaml").write_text(text)
        return load(Path("bench.yaml"))

    return write


TWO_SUITES = """\
default: [mask, topk]
defaults:
  budget: 2s
suites:
  mask:
    family: mask
    seq: [1Ki, 4Ki, 16Ki]
    rows: 64
    baseline: broadcast
    impls: [broadcast, scatter]
  topk:
    family: topk
    seq: [4096, 8192]
    k: [8, 64]
    baseline: exact
    impls:
      - exact
      - two_stage: {buckets: [64, 128], keep: 2}
    budget: 8s
  topk_small:
    family: topk
    seq: 512
    k: 8
"""


@pytest.fixture
def config(bench):
    return bench(TWO_SUITES)
