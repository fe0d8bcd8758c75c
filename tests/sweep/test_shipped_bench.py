"""The bench.yaml that is shipped names nothing that does not exist."""

import pytest

from harness.catalog.discovery import builtin
from harness.sweep.config import load, packaged_file
from harness.sweep.overrides import Overrides
from harness.sweep.schedule import plan

FAMILIES = {"mask", "topk", "offsets", "mla", "attention"}


@pytest.fixture(scope="module")
def shipped():
    return load(packaged_file())


def test_the_default_sweep_covers_all_families(shipped):
    assert {shipped.suites[name].family.text for name in shipped.default} == FAMILIES


def test_mask_has_its_production_shape(shipped):
    axes = shipped.suites["mask_production"].axes
    assert {name: axes[name].node.text for name in ("rows", "topk")} == {"rows": "1024", "topk": "2048"}


def test_every_suite_is_resolved(shipped):
    schedule = plan(shipped, builtin(), list(shipped.suites), Overrides())
    assert {suite.name for suite in schedule.suites} == set(shipped.suites)
    assert schedule.skips == ()
    assert all(suite.baseline in suite.implementations for suite in schedule.suites)
