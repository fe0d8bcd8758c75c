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
    schedule_table,
)
from harness.run.dry_run import PlannedSuite
from harness.sweep.settings import Settings


def text(renderable, width=120):
    out = io.StringIO()
    Console(file=out, width=width).print(renderable)
    return out.getvalue()


def catalog():
    fields = (Field("seq", "int", True), Field("topk", "int", False, 2048))
    family = FamilyInfo("topk", "Which k columns?", fields, ("exact",), ("fwd", "bwd"), "family.py")
    shared = {"framework": "jax", "module": "m", "file": "f", "line": 1, "hash": "h"}
    options = (Field("buckets", "int", False, 4096), Field("keep", "int", True))
    found = [
        ImplementationInfo(
            id=f"topk/{name}", semantics="exact", options=given, sentence=said, expects=why, **shared
        )
        for name, given, said, why in (
            ("two_stage", options, "Two stages.", None),
            ("literal", (), "As written.", "ties"),
        )
    ]
    return Catalog({"topk": family}, {info.id: info for info in found})


def test_a_family_lists_its_workload_and_implementations():
    shown = text(families_table(catalog()))
    assert "topk: Which k columns?" in shown
    assert "workload: seq, topk=2048; modes: fwd, bwd" in shown
    assert "two_stage[buckets=4096,keep]" in shown
    assert "As written. (expected incorrect: ties)" in shown


def test_an_empty_catalog_says_what_to_do():
    assert "--plugin" in text(families_table(Catalog()))


SETTINGS = Settings(budget_s=2.0, memory_bytes=2**30, threads=1)


def test_a_dry_run_has_a_line_per_suite():
    refused = {"b": "no bwd", "c": "no bwd"}
    mask = PlannedSuite("mask", {"seq": 4, "rows": 2}, 1, 1, 5, ["a"] * 38, refused, 76.0, "mask/a", SETTINGS)
    mla = PlannedSuite("mla", {}, 2, 1, 1, ["d", "e"], {}, 4.0, "mla/d", SETTINGS)
    lines = text(dry_run_table([mask, mla], 40, 80.0)).splitlines()
    words = [line.split() for line in lines]
    assert " ".join(words[2]) == "mask seq 4 × rows 2 × implementations 5 mask/a 38 2 1 m 16 s"
    assert words[3] == ["mla", "modes", "2", "mla/d", "2", "4.0", "s"]
    assert lines[5] == "2 impossible: no bwd"
    assert lines[6].startswith("mask, mla: budget 2.00 s, timeout 60.0 s, memory 1.00 GiB, threads 1")
    assert lines[7].startswith("40 cases would run; their budgets of sampling add up to 1 m 20 s.")


def test_a_schedule_shows_what_would_run_and_what_not():
    rows = [
        ("mask/a@seq=4096:fwd:cpu", 2**30, True, 3.0, None),
        ("mask/b@seq=4096:fwd:cpu", 2**40, False, None, None),
        ("mask/c@seq=4096:fwd:cpu", None, None, None, "unsupported: topk ≥ seq"),
    ]
    lines = text(schedule_table(rows)).splitlines()
    assert lines[2].split() == ["mask/a@seq=4096:fwd:cpu", "1.00", "GiB", "3.0", "s", "fits"]
    assert "does not fit" in lines[3]
    assert "–" in lines[4]
    assert "unsupported: topk ≥ seq" in lines[4]
    assert lines[-1] == "2 of 3 cases would run, about 3.0 s for the 1 with an estimate"


def test_ids_are_not_cut_where_the_terminal_is_narrow():
    case = "mask/a@batch=1,dtype=f32,rows=128,seq=4096,topk=2048:fwd:cpu"
    shown = text(schedule_table([(case, None, None, None, None)]), 40)
    assert case in "".join(line.split(" ")[0] for line in shown.splitlines())
    assert "fit" not in shown, "of which nothing is planned"


def test_findings_end_with_their_remedies():
    missing = SimpleNamespace(what="libtpu", state="optional", says="not installed", remedy="pip install x")
    lines = text(findings_table([missing])).splitlines()
    assert "not installed" in lines[2]
    assert lines[-1].strip() == "libtpu: pip install x"


def test_listing_loads_nothing_heavy():
    code = (
        "import sys, harness.report.tables.listing, harness.report.run_report, harness.report.progress;"
        "heavy = {'numpy', 'scipy', 'pandas', 'matplotlib', 'torch', 'jax'};"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (child.returncode, child.stderr) == (0, "")


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
KEEP = Field("keep", "int", required=True, minimum=0)
TWO_STAGE = ImplementationInfo("topk/two_stage", "jax", "exact", (KEEP,), "Two.", None, "m", "f", 1, "h")


def lines(*words, contracts=False):
    out = io.StringIO()
    Console(file=out, width=140).print(family_page(*words, contracts=contracts))
    return [" ".join(line.split()) for line in out.getvalue().splitlines()]


def test_everything_is_said_about_a_family():
    shown = lines(FAMILY, [TWO_STAGE], [EXACT, INDEXER], contracts=True)
    assert shown[0] == "topk: Which?"
    for line in (
        "seq int must be given ≥ 1",
        "dtype str f32 f32, bf16",
        "scale float none any finite number, or none",
        "causal bool false true, false",
        "exact the largest",
        "indexer of scores",
        "exact exact: as a set no backward [B, K]",
        "indexer exact tolerance: rel rms ≤ 0.1 in f32 [B, K]",
        "inputs of exact at seq=64, dtype=f32: scores f32 [1, 64]",
        "inputs of indexer are not known: use stage=x",
        "two_stage keep int must be given ≥ 0",
        "two_stage[keep] jax exact Two.",
        "ties do ties count?",
    ):
        assert line in shown, line


def test_contracts_are_said_where_they_are_asked_for():
    shown = lines(FAMILY, [TWO_STAGE], [EXACT, INDEXER])
    assert "exact the largest" in shown
    assert "two_stage[keep] jax exact Two." in shown
    assert not [line for line in shown if "tolerance" in line or "no backward" in line or "inputs" in line]


def test_an_implementation_has_one_line_unless_contracts_are_asked_for():
    wordy = replace(TWO_STAGE, sentence="Two stages " * 20)
    short, whole = (lines(FAMILY, [wordy], [EXACT], contracts=contracts) for contracts in (False, True))
    assert [line[-1] for line in short if "Two stages" in line] == ["…"]
    assert " ".join(whole).count("Two stages") == 20


def test_a_family_that_does_not_answer_is_listed_without_its_semantics():
    shown = lines(FAMILY, [], [], "it took more than 60 s")
    assert "it took more than 60 s" in shown
    assert "seq int must be given ≥ 1" in shown
