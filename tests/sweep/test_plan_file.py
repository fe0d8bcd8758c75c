"""Plans from bench.yaml without flags: suites, cases, order, and errors with their lines."""

import dataclasses

import pytest

from harness.catalog.catalog import Catalog, FamilyInfo
from harness.core.errors import UsageError
from harness.core.workload import Field
from harness.sweep.overrides import Overrides
from harness.sweep.schedule import plan

NONE = Overrides()


def test_an_option_without_default_must_be_given(bench, catalog):
    needy = implementation_with_required_option(catalog)
    text = "suites:\n  m:\n    family: mask\n    seq: 1Ki\n    rows: 1\n    impls:\n      - {}\n"
    with pytest.raises(UsageError, match=r'^bench.yaml:7: mask/tiled needs .*write "tiled\[size=…\]"'):
        plan(bench(text.format("tiled")), needy, [], NONE)
    (suite,) = plan(bench(text.format("tiled[size=0]")), needy, [], NONE).suites
    assert suite.implementations == ("mask/tiled[size=0]",)


def implementation_with_required_option(catalog):
    size = Field("size", "int", required=True, minimum=0)
    tiled = dataclasses.replace(catalog.implementations["mask/scatter"], id="mask/tiled", options=(size,))
    return Catalog(catalog.families, {**catalog.implementations, "mask/tiled": tiled})


@pytest.mark.parametrize(
    ("fields", "says"),
    [((), "has no field seq"), ((Field("seq", "int", required=True),), "has no implementations")],
)
def test_families_with_nothing_to_run(bench, catalog, fields, says):
    odd = FamilyInfo("odd", "?", fields, ("exact",), ("fwd",), "odd.py")
    config = bench("suites:\n  o: {family: odd}\n")
    with pytest.raises(UsageError, match=f"^bench.yaml:2: family odd {says}"):
        plan(config, Catalog({**catalog.families, "odd": odd}, catalog.implementations), [], NONE)


def test_options_that_make_more_variants_than_can_be_meant_are_refused(bench, catalog):
    values = list(range(1, 401))
    text = (
        "suites:\n  t:\n    family: topk\n    seq: 1Ki\n    k: 8\n"
        f"    impls:\n      - two_stage: {{buckets: {values}, keep: {values}}}\n"
    )
    with pytest.raises(UsageError, match=r"^bench.yaml:7: the options of two_stage make 160000 cases"):
        plan(bench(text), catalog, [], NONE)
