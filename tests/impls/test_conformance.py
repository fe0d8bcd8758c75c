"""One suite over the registry: check every implementation against its contract, in every supported mode.

The cases run as they do for a user, in separate processes, one family at a time; conformance.yaml lists the
points.
"""

import json
import os
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from harness.catalog.discovery import builtin
from harness.catalog.known_frameworks import traits_of
from tests.cli.forked import ROOT, call_forked

# one cheap check of each family; the families' own tests try all of them
CHECKS = {
    "mask": "mask/matches_indices",
    "topk": "topk/order",
    "offsets": "offsets/cu_seqlens_round_trip",
    "mla": "mla/no_nan",
    "attention": "attention/causality",
}
CATALOG = builtin()
IMPLEMENTATIONS = CATALOG.implementations.values()
pytestmark = [pytest.mark.jax, pytest.mark.torch, pytest.mark.full]
# Kernels, which can only be interpreted here, are in test_kernels.py.
COMPILED_HERE = [info for info in IMPLEMENTATIONS if not traits_of(info.framework).interpreted_on]


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    """conformance.yaml, with <mask> replaced by all implementations of mask that are compiled here."""

    def names(family):
        return str([info.name for info in COMPILED_HERE if info.family == family[1]])

    text = re.sub(r"<(\w+)>", names, Path(__file__).with_name("conformance.yaml").read_text())
    file = tmp_path_factory.mktemp("config") / "conformance.yaml"
    file.write_text(text)
    return str(file)


@pytest.fixture(scope="module")
def checked(tmp_path_factory, config):
    """`seqsweep check` of a family over conformance.yaml: (exit code, records by implementation)."""

    @cache
    def check(family):
        words = ["check", family, CHECKS[family], "--json", "--results", str(tmp_path_factory.mktemp(family))]
        environment = {**os.environ, "COLUMNS": "160"}
        code, out, err = call_forked(ROOT, [*words, "--config", config], environment, seconds=1200)
        assert "Traceback" not in err, err
        by_implementation = defaultdict(list)
        for record in json.loads(out)["records"]:
            by_implementation[record["implementation"]].append(record)
        return code, by_implementation

    return check


@pytest.mark.parametrize("family", CATALOG.families)
def test_nothing_is_wrong_that_should_be_right(checked, family):
    code, by_implementation = checked(family)
    records = [record for own in by_implementation.values() for record in own]
    wrong = [
        (record["case"], record["status"], record["reason"])
        for record in records
        if record["status"] not in {"ok", "unsupported"} and not record["expected"]
    ]
    assert wrong == []
    assert code == 0
    assert {made["check"] for record in records for made in record["checks"]} == {CHECKS[family]}


@pytest.mark.parametrize("info", COMPILED_HERE, ids=lambda info: info.id)
def test_conforms(checked, info):
    """In every mode except bwd alone, it was checked at least once and passed, or it refuses that mode."""
    modes = set(CATALOG.family(info.family).modes) - {"bwd"}
    records = checked(info.family)[1][info.id]
    passed = {r["mode"] for r in records if r["correctness"] and r["correctness"]["passed"]}
    refused = modes - {r["mode"] for r in records if r["status"] != "unsupported"}
    missing = ("pip install", "needs a GPU")
    lacks = any(word in record["reason"] for record in records if record["reason"] for word in missing)
    assert "fwd" in passed or lacks
    assert passed | refused == modes


@pytest.mark.parametrize("info", [info for info in IMPLEMENTATIONS if info.expects], ids=lambda info: info.id)
def test_expected_failures_fail(checked, info):
    expected = [record for record in checked(info.family)[1][info.id] if record["expected"]]
    assert expected
    assert {record["status"] for record in expected} == {"incorrect"}
