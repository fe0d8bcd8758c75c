import io
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

from rich.console import Console

from harness.catalog.catalog import Catalog, FamilyInfo, ImplementationInfo
from harness.core.workload import Field
from harness.report.tables.listing import (
    dry_run_table,
    families_table,
    family_page,
    findings_table,
)
from harness.run.dry_run import PlannedSuite
from harness.sweep.settings import Settings
from tests.goldens import assert_golden, scenes


def text(renderable, width):
    out = io.StringIO()
    Console(file=out, width=width).print(renderable)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


FIELDS = (
    Field("seq", "int", required=True),
    Field("dtype", "str", required=False, default="f32", choices=("f32", "bf16")),
    Field("scale", "float", required=False, default=None, optional=True),
    Field("causal", "bool", required=False, default=False),
)
FAMILY = FamilyInfo(
    "topk", "Which?", FIELDS, ("exact", "recall"), ("fwd",), "f.py", checks={"ties": "do ties count?"}
)
EXACT = {
    "name": "exact", "sentence": "the largest", "contract": "exact: as a set", "gradient": None,
    "layout": "[B, K]", "point": {"seq": 64, "dtype": "f32"},
    "inputs": [{"name": "scores", "dtype": "f32", "shape": (1, 64)}],
}  # fmt: skip
INDEXER = {
    **EXACT,
    "name": "indexer",
    "sentence": "of scores",
    "contract": "exact",
    "gradient": "tolerance: rel rms ≤ 0.1 in f32",
    "point": None,
    "reason": "use stage=x",
}
OPTIONS = (Field("buckets", "int", False, 4096), Field("keep", "int", required=True, minimum=0))
TWO_STAGE = ImplementationInfo("topk/two_stage", "jax", "exact", OPTIONS, "Two.", None, "m", "f", 1, "h")
LITERAL = replace(TWO_STAGE, id="topk/literal", options=(), expects="ties")
CATALOG = Catalog({"topk": FAMILY}, {info.id: info for info in (TWO_STAGE, LITERAL)})


SETTINGS = Settings(budget_s=2.0, memory_bytes=2**30, threads=1)


def test_lists_match_the_golden_file():
    refused = {"b": "no bwd", "c": "no bwd"}
    mask = PlannedSuite("mask", {"seq": 4, "rows": 2}, 1, 1, 5, ["a"] * 38, refused, 76.0, "mask/a", SETTINGS)
    mla = PlannedSuite("mla", {}, 2, 1, 1, ["d", "e"], {}, 4.0, "mla/d", SETTINGS)
    missing = SimpleNamespace(what="libtpu", state="optional", says="not installed", remedy="pip install x")
    wordy = [replace(TWO_STAGE, sentence="Two stages " * 20)]
    shown = {
        "families": families_table(CATALOG),
        "no family": families_table(Catalog()),
        "a dry run": dry_run_table([mask, mla], 40, 80.0),
        "what is missing": findings_table([missing]),
        "a family": family_page(FAMILY, [TWO_STAGE], [EXACT, INDEXER]),
        "a family with contracts": family_page(FAMILY, [TWO_STAGE], [EXACT, INDEXER], contracts=True),
        "a long sentence": family_page(FAMILY, wordy, [EXACT]),
        "a long sentence whole": family_page(FAMILY, wordy, [EXACT], contracts=True),
        "a family that does not answer": family_page(
            FAMILY, [], [], "it took more than 60 s", contracts=False
        ),
    }
    for width in (100, 200):
        told = {name: text(each, width) for name, each in shown.items()}
        assert_golden(f"lists_{width}.txt", scenes(told))


def test_listing_loads_nothing_heavy():
    code = (
        "import sys, harness.report.tables.listing, harness.report.run_report, harness.report.progress;"
        "heavy = {'numpy', 'scipy', 'pandas', 'matplotlib', 'torch', 'jax'};"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (child.returncode, child.stderr) == (0, "")
