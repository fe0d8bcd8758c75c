"""Evidence: real contracts and checks at a tiny size, and what a compiler's answer is turned into."""

import pytest

from harness.catalog import discovery
from harness.claims.gather import gather
from harness.claims.model import Need, Word
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
    """Gathering by the settings of a bench.yaml, in a folder of results that stays empty."""
    (tmp_path / "bench.yaml").write_text("suites:\n  mask: {family: mask, seq: 8}\n")

    def of(needs, catalog, said):
        project = Project(tmp_path / "bench.yaml")
        vars(project)["_catalogs"] = (catalog, catalog)  # in place of reading what is registered
        return gather(needs, project, progress_of, said.append)

    return of


def test_contracts_and_checks_run_here_and_leave_no_run(gather_here, tmp_path, read):
    """A real family: `status` and `check` end as `seqsweep check` would."""
    everything, said = discovery.builtin(), []
    (claim,) = read(CLAIMS, everything.family("topk"))
    wanted = needs(claim, everything)
    told = gather_here(wanted, everything, said)
    judged = {need.check: one for need, one in told.items() if need.kind == Need.JUDGE}
    assert [one.status for one in judged.values()] == ["ok", "ok"]
    assert judged["topk/edge_rows"].checks == {"topk/edge_rows": True}
    assert said == ["1 contracts, run on this machine"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bench.yaml", "claims.py"]
    assert [one.bytes > 0 for need, one in told.items() if need.kind == Need.COST] == [True]
    assert judge(claim, everything, told).word == Word.REPRODUCED


def test_compiled_answers_keep_their_facts(gather_here, monkeypatch, read):
    asked = []

    def compile_all(asks, catalog, *, results, settings, on_answer=None):
        asked.extend(ask.target for ask in asks)
        return dict.fromkeys(
            asks, compiling.CompileResult("ok", static(temp_bytes=3), facts={"path": "fast"})
        )

    monkeypatch.setattr(compiling, "compile_all", compile_all)
    figures = [f"{name!r}, found=e.temp_bytes('a', {name!r})" for name in ("host", "cuda:h200")]
    (claim,) = read(document(*figures, "'a', published=1, follows=1"))
    said = []
    told = gather_here(needs(claim, CATALOG), CATALOG, said)
    by_target = {need.target: one for need, one in told.items()}
    assert asked == ["host", "cuda:h200"]
    assert said == ["2 programs for host, cuda:h200"]
    assert (by_target["host"].facts, by_target["host"].static.temp_bytes) == ({"path": "fast"}, 3)


@pytest.fixture
def read_needs(read):
    """The needs of a claim whose figures find these: (case, target, check)."""

    def of(*found, more="rows=16, seq=64", table=""):
        figures = [one if "yield" in one else f"'f{place}', found={one}" for place, one in enumerate(found)]
        (claim,) = read(document(*figures, "'other', published=1, found=1", more=more, table=table))
        return [(need.kind, need.case.id, need.target, need.check) for need in needs(claim, CATALOG)]

    return of


def test_cases_at_the_claims_shape_each_once(read_needs):
    text = 'e.temp_bytes("a", "tpu:v5p", topk=512) + e.temp_bytes("mask/a", "host") + e.flops("a", "host")'
    assert sorted(read_needs(text, 'e.temp_bytes("a", "host")')) == [
        (Need.COMPILE, "mask/a@rows=16,seq=64,topk=2:fwd:cpu", "host", ""),
        (Need.COMPILE, "mask/a@rows=16,seq=64,topk=512:fwd:cpu", "tpu:v5p", ""),
    ]


def test_what_is_compiled_row_by_row_is_asked_for_where_the_row_has_its_numbers(read_needs):
    table = 'PAPER.table("""\nn  dense  nsa\n64  1  2\n128  2  OOM\n256  4  3\n""")'
    text = 'for n, nsa in e.each("nsa"): yield Figure("f", found=e.flops("a", "host", seq=n) / nsa, row=n)'
    asked = read_needs(text, 'e.growth("dense", 128)', 'e.peak("cuda:b200") * e.rows', table=table)
    assert [case for _, case, _, _ in asked] == [f"mask/a@rows=16,seq={n},topk=2:fwd:cpu" for n in (64, 256)]


def test_what_has_no_width_asks_for_nothing_to_be_compiled(read):
    figure = "'a', published=1, found=e.temp_bytes('a', 'host')"
    with pytest.raises(UsageError, match=r"claims.py:\d+: a has no width; give it to Claim"):
        needs(read(document(figure), WIDE)[0], CATALOG)
    (need,) = needs(read(document(figure, more="width=3"), WIDE)[0], CATALOG)
    assert dict(need.case.workload)["width"] == 3
