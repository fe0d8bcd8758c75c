import json
from dataclasses import replace

from harness.catalog.catalog import Catalog, FamilyInfo, ImplementationInfo
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


def test_a_catalog_round_trips_through_json():
    option = Field("buckets", "int", required=False, default=4096, minimum=0)
    info = replace(KNOWN.implementations["topk/exact"], options=(option,), expects="ties")
    whole = Catalog(KNOWN.families, {**KNOWN.implementations, info.id: info})
    assert Catalog.from_json(json.loads(json.dumps(whole.to_json()))) == whole


def test_a_plugin_that_imports_an_implementation_does_not_own_it():
    imported = replace(KNOWN.implementations["mask/scatter"], module="plugin.py")
    merged = KNOWN.merged(Catalog({}, {imported.id: imported, "mask/new": implementation("mask/new")}))
    assert merged.implementations["mask/scatter"].module == "m"
    assert list(merged.implementations) == [*KNOWN.implementations, "mask/new"]
