"""Evidence: real contracts and checks at a tiny size, and what a compiler's answer is turned into."""

import pytest

from harness.catalog import discovery
from harness.claims.evidence import Workplace, gather
from harness.claims.model import Word
from harness.claims.needs import needs
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
