"""Evidence: real contracts and checks at a tiny size, and results of a fake compiler."""

import pytest

from harness.catalog import discovery
from harness.claims.gather import gather
from harness.claims.model import EvidenceRequest, Word
from harness.claims.verdict import figures_of, judge
from harness.commands.output import progress_of
from harness.core.errors import UsageError
from harness.run import compile as compiling
from harness.sweep.project import Project
from tests.claims.planted import CATALOG, HEAD, WIDE, document, static

CLAIMS = f'''{HEAD}
@Claim("reproduced", PAPER, on="any", rows=2, seq=512, topk=16)
def contract(e):
    """A partition finds the largest, and the check passes"""
    yield Figure("contract", published="ok", found=e.status("partition"))
    yield Figure("check", holds=e.check("topk/edge_rows", "partition"))
    yield Figure("work", holds=e.cost_bytes("partition") > 0)
'''


def needs(claim, catalog):
    return figures_of(claim, catalog, {})[1]


@pytest.fixture
def gather_here(tmp_path):
    """Gather with the settings of a bench.yaml, in a results folder that stays empty."""
    (tmp_path / "bench.yaml").write_text("suites:\n  mask: {family: mask, seq: 8}\n")

    def of(needs, catalog, lines):
        project = Project(tmp_path / "bench.yaml")
        vars(project)["_catalogs"] = (catalog, catalog)  # in place of result what is registered
        return gather(needs, project, progress_of, lines.append)

    return of


def test_contracts_and_checks_store_no_run(gather_here, tmp_path, read):
    """With a real family, `status` and `check` have the results of `seqsweep check`."""
    everything, lines = discovery.builtin(), []
    (claim,) = read(CLAIMS, everything.family("topk"))
    wanted = needs(claim, everything)
    told = gather_here(wanted, everything, lines)
    judged = {request.check: one for request, one in told.items() if request.kind == EvidenceRequest.CONTRACT}
    assert [one.status for one in judged.values()] == ["ok", "ok"]
    assert judged["topk/edge_rows"].checks == {"topk/edge_rows": True}
    assert lines == ["running 1 contracts on this machine"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bench.yaml", "claims.py"]
    assert [one.bytes > 0 for request, one in told.items() if request.kind == EvidenceRequest.COST] == [True]
    assert judge(claim, everything, told).word == Word.REPRODUCED


def test_compiled_results_have_their_facts(gather_here, monkeypatch, read):
    asked = []

    def compile_all(asks, catalog, *, results, settings, on_answer=None):
        asked.extend(ask.target for ask in asks)
        return dict.fromkeys(
            asks, compiling.CompileResult("ok", static(temp_bytes=3), facts={"path": "fast"})
        )

    monkeypatch.setattr(compiling, "compile_all", compile_all)
    figures = [f"{name!r}, found=e.temp_bytes('a', {name!r})" for name in ("host", "cuda:h200")]
    (claim,) = read(document(*figures, "'a', published=1, follows=1"))
    lines = []
    told = gather_here(needs(claim, CATALOG), CATALOG, lines)
    by_target = {request.target: one for request, one in told.items()}
    assert asked == ["host", "cuda:h200"]
    assert lines == ["compiling 2 programs for host, cuda:h200"]
    assert (by_target["host"].facts, by_target["host"].static.temp_bytes) == ({"path": "fast"}, 3)


@pytest.fixture
def read_needs(read):
    """The needs of a claim whose figures find these: (case, target, check)."""

    def of(*found, more="rows=16, seq=64", table=""):
        figures = [one if "yield" in one else f"'f{place}', found={one}" for place, one in enumerate(found)]
        (claim,) = read(document(*figures, "'other', published=1, found=1", more=more, table=table))
        return [
            (request.kind, request.case.id, request.target, request.check)
            for request in needs(claim, CATALOG)
        ]

    return of


def test_each_case_is_requested_once_at_the_claims_shape(read_needs):
    text = 'e.temp_bytes("a", "tpu:v5p", topk=512) + e.temp_bytes("mask/a", "host") + e.flops("a", "host")'
    assert sorted(read_needs(text, 'e.temp_bytes("a", "host")')) == [
        (EvidenceRequest.COMPILE, "mask/a@rows=16,seq=64,topk=2:fwd:cpu", "host", ""),
        (EvidenceRequest.COMPILE, "mask/a@rows=16,seq=64,topk=512:fwd:cpu", "tpu:v5p", ""),
    ]


def test_rows_without_numbers_request_nothing(read_needs):
    table = 'PAPER.table("""\nn  dense  nsa\n64  1  2\n128  2  OOM\n256  4  3\n""")'
    text = 'for n, nsa in e.each("nsa"): yield Figure("f", found=e.flops("a", "host", seq=n) / nsa, row=n)'
    asked = read_needs(text, 'e.growth("dense", 128)', 'e.peak("cuda:b200") * e.rows', table=table)
    assert [case for _, case, _, _ in asked] == [f"mask/a@rows=16,seq={n},topk=2:fwd:cpu" for n in (64, 256)]


def test_a_missing_width_is_refused(read):
    figure = "'a', published=1, found=e.temp_bytes('a', 'host')"
    with pytest.raises(UsageError, match=r"claims.py:\d+: a has no width; pass it to Claim"):
        needs(read(document(figure), WIDE)[0], CATALOG)
    (request,) = needs(read(document(figure, more="width=3"), WIDE)[0], CATALOG)
    assert dict(request.case.workload)["width"] == 3
