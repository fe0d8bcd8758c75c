"""The families' claims.py files: sources, hardware, verdicts and arithmetic of every claim."""

from collections import Counter
from pathlib import Path

import pytest

from harness.claims.model import AGAINST, ANY, ClaimVerdict, EvidenceRequest, Word
from harness.claims.report import HEADLINES, PAGES, page, parts
from harness.claims.verdict import figures_of, judge
from impls.attention.family import FAMILY as ATTENTION
from impls.mask.family import FAMILY as MASK
from impls.mla.family import FAMILY as MLA
from impls.offsets.family import FAMILY as OFFSETS
from impls.topk.family import FAMILY as TOPK

IMPLS = Path(__file__).resolve().parents[2] / "impls"
FAMILIES = {"mask": MASK, "topk": TOPK, "offsets": OFFSETS, "mla": MLA, "attention": ATTENTION}


@pytest.fixture(scope="module")
def verdicts(catalog, claims):
    """Verdicts on claims that need no compiling or running."""
    found = {}
    for claim in claims.values():
        _, wanted = figures_of(claim, catalog, {})
        if all(one.kind == EvidenceRequest.COST for one in wanted):
            found[claim.name] = judge(claim, catalog, {one: cost_of(catalog, one) for one in wanted})
    return found


def cost_of(catalog, wanted):
    family = FAMILIES[wanted.case.family]
    semantics = catalog.implementation(wanted.case.implementation).semantics
    return family.cost_of(semantics, family.workload(**dict(wanted.case.workload)))


# what is there


def test_every_claim_of_a_pull_request_has_a_source_with_a_link(seeds):
    for claim in seeds.values():
        assert claim.sources, claim.name
        assert all(one.source.url.startswith("https://") for one in claim.sources), claim.name
        assert len({one.source.of for one in claim.sources}) == 1, claim.name


def test_each_pull_request_belongs_to_one_family(seeds):
    found = Counter((claim.family, claim.sources[0].source.of) for claim in seeds.values())
    assert found == {
        ("mask", "MaxText #4261"): 11,
        ("topk", "MaxText #4243"): 9,
        ("offsets", "TransformerEngine #2522"): 11,
        ("mla", "DeepSeek-V3 #684"): 9,
        ("attention", "MSLK #296"): 62,
    }


def test_every_claim_has_a_reason(claims):
    for claim in claims.values():
        assert all((claim.says, claim.hardware, claim.because)), claim.name


def test_claims_without_stated_hardware_have_no_targets(claims):
    """Except if they were compiled for every device that may be meant."""
    unstated = [claim for claim in claims.values() if "not stated" in claim.hardware]
    named = [claim for claim in unstated if claim.targets]
    assert len(unstated) >= 10
    assert [c.name for c in named if c.hardware == "TPU, not stated which" and len(c.targets) < 5] == []
    assert [claim.name for claim in named if claim.hardware.startswith("GPU")] == []


def test_a_timing_is_never_contradicted(seeds, figures):
    """Nothing was timed: contradictions are counted, compiled or run."""
    for claim in seeds.values():
        if claim.expect == Word.CONTRADICTED:
            compared = [figure for figure in figures[claim.name] if figure.compared]
            assert not {figure.unit for figure in compared} & {"ms", "s", "us", "TFLOP/s"}, claim.name


def test_claims_that_need_hardware_are_not_reproduced(seeds):
    assert [c.name for c in seeds.values() if c.needs and c.expect in {Word.REPRODUCED, Word.ELSEWHERE}] == []


def test_an_unnamed_tpu_or_gpu_is_another_target(seeds):
    for claim in seeds.values():
        if claim.expect == Word.REPRODUCED and claim.hardware != ANY:
            assert claim.targets == ("host",), claim.name
            assert "CPU" in claim.hardware, claim.name


# headlines


def test_headlines_are_few_complete_and_all_shown(seeds):
    """Each names its pull request and is one or two sentences, because the list on the page does not."""
    told = [claim for claim in seeds.values() if claim.headline]
    assert 0 < len(told) <= HEADLINES
    shown = page([ClaimVerdict(claim, claim.expect, "x") for claim in seeds.values()], {})
    for claim in told:
        assert " ".join(claim.headline.split()) in shown
        assert len(claim.headline) <= 280, claim.name
        assert claim.headline.endswith("."), claim.name
        assert claim.sources[0].source.of in claim.headline, claim.name


# verdicts


def test_every_verdict_is_the_expected_one(verdicts):
    assert {name: found.judged for name, found in verdicts.items()} == {
        name: found.claim.expect for name, found in verdicts.items()
    }
    assert not any(found.incomplete for found in verdicts.values())
    assert len(verdicts) >= 60


def test_the_documents_have_these_verdicts(verdicts):
    """The others need a compiler: `claims --check` compares them."""
    for name, context in PAGES.items():
        text = (IMPLS.parent / "docs" / name).read_text()
        found = parts(page(list(verdicts.values()), {}, context=context))
        own = {claim: section for claim, section in found.items() if "/" in claim}
        assert {claim: parts(text)[claim] for claim in own} == own


def test_sentences_against_a_claim_name_a_disagreeing_figure(verdicts):
    for name, found in verdicts.items():
        if found.judged in AGAINST:
            assert any(one.agrees is False and one.against == found.judged for one in found.results), name
            assert found.claim.because in found.sentence, name
