"""Evidence: real contracts and checks at a tiny size, and what a compiler's answer is turned into."""

from dataclasses import replace

import pytest

from harness.catalog import discovery
from harness.claims.evidence import Workplace, gather
from harness.claims.model import Word
from harness.claims.needs import needs
from harness.claims.read_yaml import load
from harness.claims.verdict import judge
from harness.commands.output import progress_of
from harness.core.errors import UsageError
from harness.run import compile as compiling
from harness.sweep.project import Project
from tests.claims.planted import CATALOG, document, static
from tests.records import PASSED, record_of, timing_of
from tests.stores import FACTS, store

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


def test_compiled_answers_keep_their_facts_and_what_is_not_installed_is_not_asked(
    place, monkeypatch, tmp_path
):
    asked = []

    def compile_all(asks, catalog, *, results, settings, on_answer=None):
        asked.extend(ask.target for ask in asks)
        return dict.fromkeys(
            asks, compiling.CompileResult("ok", static(temp_bytes=3), facts={"path": "fast"})
        )

    monkeypatch.setattr(compiling, "compile_all", compile_all)
    why = "libtpu is not installed"
    monkeypatch.setattr(
        "harness.catalog.accelerators.missing_compiler", lambda kind: why if kind == "tpu" else None
    )
    figures = [
        f"""name: {name}, found: 'temp_bytes("mask/a", "{name}")'"""
        for name in ("host", "tpu:v5p", "cuda:h200")
    ]
    (tmp_path / "claims.yaml").write_text(document(*figures, "name: a, published: 1, follows: 1"))
    (claim,) = load(tmp_path / "claims.yaml", CATALOG.family("mask"), CATALOG)
    said = []
    told = gather(place(CATALOG, said), needs(claim, CATALOG)).compiled
    by_target = {need.target: one for need, one in told.items()}
    assert asked == ["host", "cuda:h200"]
    assert said == ["2 programs for host, cuda:h200"]
    assert (by_target["host"].facts, by_target["host"].static.temp_bytes) == ({"path": "fast"}, 3)
    assert (by_target["tpu:v5p"].absent, by_target["tpu:v5p"].reason) == (True, why)


SPEED = """\
    name: speedup, published: 2, found: 'speedup("mask/a", "mask/b[keep=2]")', within: 5%, why: rounded"""


@pytest.mark.parametrize(
    ("speedups", "verdict", "says"),
    [
        ({"EPYC": 2.0, "Xeon": 2.05}, Word.REPRODUCED, "faster on both machines; 2.000× to 2.050×"),
        ({"EPYC": 2.0, "Xeon": 1.0}, Word.NOT_CHECKABLE, "no verdict in common: faster on 1 of 2 machines"),
        ({"EPYC": 2.0}, Word.REPRODUCED, "on one machine only"),
        ({}, Word.NOT_CHECKABLE, "no run that is kept has"),
    ],
)
def test_a_speedup_holds_where_all_machines_have_one_verdict(place, tmp_path, speedups, verdict, says):
    (tmp_path / "claims.yaml").write_text(document(SPEED.strip(), more="shape: {seq: 8}"))
    (claim,) = load(tmp_path / "claims.yaml", CATALOG.family("mask"), CATALOG)
    wanted = needs(claim, CATALOG)
    for at, (cpu, speedup) in enumerate(speedups.items()):
        records = [
            replace(
                record_of("a", 8, timing=timing_of([seconds] * 6), correctness=PASSED),
                case=case.id, implementation=case.implementation, options=dict(case.options),
            )
            for case, seconds in ((wanted[0].case, 1.0), (wanted[0].against, speedup))
        ]  # fmt: skip
        facts = {**FACTS, "cpu": cpu}
        run = store(tmp_path, f"2026112{at}T113000Z-aaaaaaa", records, facts=facts)
        run.update_info(depth="run")
        (tmp_path / "results/reference").mkdir(parents=True, exist_ok=True)
        run.path.rename(tmp_path / "results/reference" / run.id)
    judged = judge(claim, CATALOG, gather(place(CATALOG, []), wanted))
    assert judged.word == verdict
    assert says in judged.sentence


def test_how_many_machines_must_agree_is_refused(tmp_path):
    text = document("name: a, published: 1, follows: 1", more="reproductions: 2")
    (tmp_path / "claims.yaml").write_text(text)
    with pytest.raises(UsageError, match=r"claims.yaml:\d+: reproductions was removed: .*delete it"):
        load(tmp_path / "claims.yaml", CATALOG.family("mask"), CATALOG)
