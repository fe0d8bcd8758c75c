"""Evidence: real contracts and checks at a tiny size, and what a compiler's answer is turned into."""

import pytest

from harness.catalog import discovery
from harness.claims.evidence import Workplace, gather, needs
from harness.claims.model import Need, Word
from harness.claims.read_yaml import load
from harness.claims.verdict import judge
from harness.commands.output import progress_of
from harness.run import compile as compiling
from harness.sweep.project import Project
from tests.claims.planted import CATALOG, document, static

CLAIMS = """\
sources: {pull: {title: "Pull #1", of: "Pull #1"}}
claims:
  - id: contract
    says: A partition finds the largest, and the check passes
    source: pull
    hardware: any
    shape: {rows: 2, seq: 512, topk: 16}
    figures:
      - {name: contract, published: ok, found: status("topk/partition")}
      - {name: check, published: true, found: 'check("topk/edge_rows", "topk/partition")'}
      - {name: work, published: true, found: 'cost_bytes("topk/partition") > 0'}
    expect: reproduced
"""


@pytest.fixture
def place(tmp_path):
    """Where evidence is gathered: settings of a bench.yaml, and a folder of results that stays empty."""
    (tmp_path / "bench.yaml").write_text("suites:\n  mask: {family: mask, seq: 8}\n")

    def of(catalog, said):
        project = Project(tmp_path / "bench.yaml")
        vars(project)["_catalogs"] = (catalog, catalog)  # in place of reading what is registered
        return Workplace(project, progress_of, said.append)

    return of


def test_contracts_and_checks_run_here_and_leave_no_run(place, tmp_path):
    """A real family: `status` and `check` end as `seqsweep check` would."""
    everything, said = discovery.builtin(), []
    (tmp_path / "claims.yaml").write_text(CLAIMS)
    (claim,) = load(tmp_path / "claims.yaml", everything.family("topk"), everything)
    wanted = needs(claim, everything)
    told = gather(place(everything, said), wanted)
    assert [one.status for one in told.judged.values()] == ["ok", "ok"]
    (examined,) = [one for need, one in told.judged.items() if need.check]
    assert examined.checks == {"topk/edge_rows": True}
    assert said == ["1 contracts, run on this machine"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bench.yaml", "claims.yaml"]
    assert [cost.bytes > 0 for cost in told.costs.values()] == [True]
    assert judge(claim, everything, told).word == Word.REPRODUCED


def test_compiled_answers_keep_their_facts(place, monkeypatch, tmp_path):
    asked = []

    def compile_all(asks, catalog, *, results, settings, on_answer=None):
        asked.extend(ask.target for ask in asks)
        return dict.fromkeys(
            asks, compiling.CompileResult("ok", static(temp_bytes=3), facts={"path": "fast"})
        )

    monkeypatch.setattr(compiling, "compile_all", compile_all)
    figures = [f"""name: {name}, found: 'temp_bytes("mask/a", "{name}")'""" for name in ("host", "cuda:h200")]
    (tmp_path / "claims.yaml").write_text(document(*figures, "name: a, published: 1, follows: 1"))
    (claim,) = load(tmp_path / "claims.yaml", CATALOG.family("mask"), CATALOG)
    said = []
    told = gather(place(CATALOG, said), needs(claim, CATALOG)).compiled
    by_target = {need.target: one for need, one in told.items()}
    assert asked == ["host", "cuda:h200"]
    assert said == ["2 programs for host, cuda:h200"]
    assert (by_target["host"].facts, by_target["host"].static.temp_bytes) == ({"path": "fast"}, 3)


TABLE = "t: {source: paper, columns: [n, dense, nsa], rows: [[64, 1, 2], [128, 2, OOM], [256, 4, 3]]}"


@pytest.fixture
def read_needs(read):
    """The needs of a claim whose figures find these."""

    def of(*found, each=False, more="shape: {rows: 16, seq: 64}", tables=""):
        row = "each: true, " if each else ""
        figures = [f"name: f{place}, {row}found: '{one}'" for place, one in enumerate(found)]
        (claim,) = read(document(*figures, "name: other, published: 1, found: 1", more=more, tables=tables))
        return needs(claim, CATALOG)

    return of


def describe(found):
    return [(one.kind, one.case.id, one.target) for one in found]


def test_cases_at_the_claims_shape_each_once(read_needs):
    text = 'temp_bytes("mask/a", "tpu:v5p", topk=512) + temp_bytes("a", "host") + flops("mask/a", "host")'
    assert sorted(describe(read_needs(text, 'temp_bytes("mask/a", "host")'))) == [
        (Need.COMPILE, "mask/a@rows=16,seq=64,topk=2:fwd:cpu", "host"),
        (Need.COMPILE, "mask/a@rows=16,seq=64,topk=512:fwd:cpu", "tpu:v5p"),
    ]


def test_modes_options_and_sizes(read_needs):
    found = read_needs('program("mask/b[keep=1]", "host", mode="bwd", seq=2Ki)')
    assert describe(found) == [(Need.COMPILE, "mask/b[keep=1]@rows=16,seq=2048,topk=2:bwd:cpu", "host")]


@pytest.mark.parametrize(
    ("text", "kind", "target"),
    [
        ('ops("mask/a", "tpu:v5p", "sort")', Need.COMPILE, "tpu:v5p"),
        ('calls("mask/a", "cuda:h200", "TopK")', Need.COMPILE, "cuda:h200"),
        ('fact("mask/a", "path")', Need.COMPILE, "host"),
        ('trace_bytes("mask/t")', Need.COMPILE, "host"),
        ('cost_dense_flops("mask/a")', Need.COST, ""),
        ('status("mask/a")', Need.JUDGE, ""),
    ],
)
def test_each_function_asks_for_its_kind(read_needs, text, kind, target):
    (found,) = read_needs(text)
    assert (found.kind, found.target, found.check) == (kind, target, "")


def test_a_check_asks_for_its_case_beside_the_contracts(read_needs):
    contract, check = read_needs('status("mask/a")', 'check("mask/order", "mask/a", seq=32)')
    assert (check.kind, check.check, check.case.seq) == (Need.JUDGE, "mask/order", 32)
    assert (contract.check, contract.case.seq) == ("", 64)


def test_an_exponent_asks_for_both_lengths(read_needs):
    found = read_needs('exponent("temp_bytes", "mask/a", "tpu:v5p", 1Ki, 2Ki, rows=2)')
    assert describe(found) == [
        (Need.COMPILE, "mask/a@rows=2,seq=1024,topk=2:fwd:cpu", "tpu:v5p"),
        (Need.COMPILE, "mask/a@rows=2,seq=2048,topk=2:fwd:cpu", "tpu:v5p"),
    ]
    found = read_needs('exponent("cost_flops", "mask/a", 1Ki, 2Ki)')
    assert [(n.kind, n.case.seq, n.target) for n in found] == [(Need.COST, 1024, ""), (Need.COST, 2048, "")]


@pytest.mark.parametrize(
    ("text", "each", "lengths"),
    [
        ('flops("mask/a", "host", seq=n) / nsa', True, [64, 256]),  # where the row has both numbers
        ("1 + dense", True, []),
        ("""growth("temp_bytes(''mask/a'', ''host'', seq=n)", 128)""", False, [64, 128, 256]),
        ('growth("dense", 128)', False, []),
        ("rows * seq", False, []),
        ('peak("cuda:b200") * memory("tpu:v5p")', False, []),
    ],
)
def test_only_what_has_to_be_compiled_is_asked_for_row_by_row(read_needs, text, each, lengths):
    found = read_needs(text, each=each, more="table: t", tables=TABLE)
    assert [need.case.seq for need in found] == lengths
