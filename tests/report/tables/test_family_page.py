import io
from dataclasses import replace

from rich.console import Console

from harness.catalog.catalog import FamilyInfo, ImplementationInfo
from harness.core.workload import Field
from harness.report.tables.family_page import family_page

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
