import json
from dataclasses import replace

import pytest

from harness.catalog.catalog import Catalog, FamilyInfo, ImplementationInfo
from harness.core.errors import UsageError
from harness.core.workload import Field

SEQ = Field("seq", "int", required=True)
DTYPE = Field("dtype", "str", required=False, default="f32", choices=("f32", "bf16"))


def family(name, file="family.py"):
    return FamilyInfo(name, "?", (SEQ, DTYPE), ("exact",), ("fwd",), file)


def implementation(identity, file="variant.py", **more):
    return ImplementationInfo(identity, "jax", "exact", (), "One.", None, "m", file, 1, "sha256:0", **more)


def catalog(*identities, file="variant.py"):
    infos = [implementation(identity, file) for identity in identities]
    return Catalog({name: family(name) for name in ("mask", "topk")}, {info.id: info for info in infos})


KNOWN = catalog("mask/scatter", "mask/broadcast", "topk/exact", "mask/exact")


def test_a_catalog_survives_json():
    option = Field("buckets", "int", required=False, default=4096, minimum=0)
    info = replace(KNOWN.implementations["topk/exact"], options=(option,), expects="ties")
    whole = Catalog(KNOWN.families, {**KNOWN.implementations, info.id: info})
    assert Catalog.from_json(json.loads(json.dumps(whole.to_json()))) == whole


def test_names_are_looked_up_whole_or_within_a_family():
    assert KNOWN.implementation("mask/scatter").name == "scatter"
    assert KNOWN.implementation("scatter").id == "mask/scatter"
    assert KNOWN.implementation("exact", "topk").id == "topk/exact"
    assert [info.id for info in KNOWN.of_family("mask")] == ["mask/broadcast", "mask/exact", "mask/scatter"]


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: KNOWN.implementation("mask/scater"), 'nearest: "mask/scatter"'),
        (lambda: KNOWN.implementation("scater", "mask"), 'of family mask; nearest: "scatter"'),
        (lambda: KNOWN.implementation("exact"), "in several families: mask/exact, topk/exact"),
        (lambda: KNOWN.family("maks"), 'unknown family "maks"; nearest: "mask"'),
        (lambda: KNOWN.family("mask").field("sek"), 'nearest: "seq"'),
        (lambda: KNOWN.implementations["topk/exact"].option("k"), 'unknown option "k" of topk/exact'),
    ],
)
def test_what_is_not_there_is_an_error_with_the_nearest_name(ask, says):
    with pytest.raises(UsageError, match=says):
        ask()


def test_one_id_has_one_meaning():
    with pytest.raises(UsageError, match=r"mask/scatter is defined twice: variant.py and mine.py"):
        KNOWN.merged(catalog("mask/scatter", file="mine.py"))
    with pytest.raises(UsageError, match="family mask is defined twice"):
        KNOWN.merged(Catalog({"mask": family("mask", "mine.py")}))


def test_a_plugin_that_imports_an_implementation_does_not_own_it():
    imported = replace(KNOWN.implementations["mask/scatter"], module="plugin.py")
    merged = KNOWN.merged(Catalog({}, {imported.id: imported, "mask/new": implementation("mask/new")}))
    assert merged.implementations["mask/scatter"].module == "m"
    assert list(merged.implementations) == [*KNOWN.implementations, "mask/new"]
