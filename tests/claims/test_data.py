"""What the families' claims.py hold: every claim with its source, and arithmetic that is right."""

from pathlib import Path

import pytest

from harness.claims.model import AGAINST, ANY, Need, Verdict, Word
from harness.claims.quantity import Ki
from harness.claims.report import HEADLINES, PAGES, page, parts
from harness.claims.verdict import figures_of, judge
from impls.attention.family import FAMILY as ATTENTION
from impls.mask.family import FAMILY as MASK
from impls.mla.family import FAMILY as MLA
from impls.offsets.family import FAMILY as OFFSETS
from impls.topk.family import FAMILY as TOPK

IMPLS = Path(__file__).resolve().parents[2] / "impls"
FAMILIES = {"mask": MASK, "topk": TOPK, "offsets": OFFSETS, "mla": MLA, "attention": ATTENTION}
OPEN = 6  # claims that are not checkable here, context left out


@pytest.fixture(scope="module")
def verdicts(catalog, claims):
    """Of claims for which nothing has to be compiled or run."""
    found = {}
    for claim in claims.values():
        _, wanted = figures_of(claim, catalog, {})
        if all(one.kind == Need.COST for one in wanted):
            found[claim.name] = judge(claim, catalog, {one: cost_of(catalog, one) for one in wanted})
    return found


def cost_of(catalog, wanted):
    family = FAMILIES[wanted.case.family]
    semantics = catalog.implementation(wanted.case.implementation).semantics
    return family.cost_of(semantics, family.workload(**dict(wanted.case.workload)))


# what is there


@pytest.mark.parametrize(
    ("family", "count"), [("mask", 11), ("topk", 9), ("offsets", 11), ("mla", 8), ("attention", 60)]
)
def test_every_family_has_claims(seeds, family, count):
    assert sum(claim.family == family for claim in seeds.values()) >= count


def test_every_claim_of_a_pull_request_has_a_source_that_can_be_opened(seeds):
    for claim in seeds.values():
        assert claim.sources, claim.name
        assert all(one.source.url.startswith("https://") for one in claim.sources), claim.name
        assert len({one.source.of for one in claim.sources}) == 1, claim.name


def test_each_pull_request_is_one_familys(seeds):
    found = {(claim.family, one.source.of) for claim in seeds.values() for one in claim.sources}
    assert found == {
        ("mask", "MaxText #4261"),
        ("topk", "MaxText #4243"),
        ("offsets", "TransformerEngine #2522"),
        ("mla", "DeepSeek-V3 #684"),
        ("attention", "MSLK #296"),
    }


def test_every_claim_says_why(claims):
    for claim in claims.values():
        assert all((claim.says, claim.hardware, claim.because)), claim.name


def test_few_claims_are_left_open(seeds):
    assert len([claim for claim in seeds.values() if claim.expect == Word.NOT_CHECKABLE]) <= OPEN


def test_hardware_that_was_not_stated_is_no_device_of_ours(claims):
    """Only where it was compiled for every device that it may have been has it targets."""
    unstated = [claim for claim in claims.values() if "not stated" in claim.hardware]
    named = [claim for claim in unstated if claim.targets]
    assert len(unstated) >= 10
    assert [c.name for c in named if c.hardware == "TPU, not stated which" and len(c.targets) < 5] == []
    assert [claim.name for claim in named if claim.hardware.startswith("GPU")] == []


def test_a_timing_is_never_contradicted(seeds, figures):
    """No clock ran here: what is contradicted is counted, compiled or run."""
    for claim in seeds.values():
        if claim.expect == Word.CONTRADICTED:
            compared = [figure for figure in figures[claim.name] if figure.compared]
            assert not {figure.unit for figure in compared} & {"ms", "s", "us", "TFLOP/s"}, claim.name


def test_what_only_the_hardware_would_settle_is_not_called_reproduced(seeds):
    assert [c.name for c in seeds.values() if c.needs and c.expect in {Word.REPRODUCED, Word.ELSEWHERE}] == []


def test_compiled_for_a_tpu_or_gpu_that_was_not_named_is_another_target(seeds):
    for claim in seeds.values():
        if claim.expect == Word.REPRODUCED and claim.hardware != ANY:
            assert claim.targets == ("host",), claim.name
            assert "CPU" in claim.hardware, claim.name


# headlines


def test_headlines_are_few_and_all_of_them_are_shown(seeds):
    told = [claim for claim in seeds.values() if claim.headline]
    assert 0 < len(told) <= HEADLINES
    shown = page([Verdict(claim, claim.expect, "x") for claim in seeds.values()], {})
    assert [claim.name for claim in told if " ".join(claim.headline.split()) not in shown] == []


def test_a_headline_stands_alone(seeds):
    """It names its pull request, which a list at the head of a page does not; and is one sentence or two."""
    for claim in seeds.values():
        if claim.headline:
            assert len(claim.headline) <= 280, claim.name
            assert claim.headline.endswith("."), claim.name
            (of,) = {one.source.of for one in claim.sources}
            assert of in claim.headline, claim.name


# verdicts


def test_every_verdict_is_the_one_written_down(verdicts):
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


def test_a_sentence_against_someone_is_of_a_figure_that_disagrees(verdicts):
    for name, found in verdicts.items():
        if found.judged in AGAINST:
            assert any(one.agrees is False and one.against == found.judged for one in found.readings), name
            assert found.claim.because in found.sentence, name


# numbers


def half_unit(cell):
    """What a printed number may be off by: half a unit of its last digit, of two at most."""
    digits = len(f"{cell:.2f}".rstrip("0").partition(".")[2])
    return 0.5 * 10.0**-digits


PRINTED = {
    "printed": ("dense", "nsa"),
    "printed_fb": ("dense_fb", "nsa_fb"),
    "printed_sparse": ("dense", "sparse"),
}


def test_printed_speedups_follow_from_their_rows(claims):
    """Without the evaluator: within what rounding to the printed digits allows."""
    tables = {c.table.id: c.table for c in claims.values() if c.family == "attention" and c.table}
    checked = 0
    for table in tables.values():
        for row in table.rows:
            cells = dict(zip(table.columns, row, strict=True))
            cells = {name: cell for name, cell in cells.items() if isinstance(cell, int | float)}
            for name, (slower, faster) in PRINTED.items():
                if not {name, slower, faster} <= cells.keys():
                    continue
                over, under, printed = cells[slower], cells[faster], cells[name]
                low = (over - 0.005) / (under + 0.005) - half_unit(printed)
                high = (over + 0.005) / (under - 0.005) + half_unit(printed)
                assert low <= printed <= high, (table.id, row)
                checked += 1
    assert checked >= 90


@pytest.mark.parametrize("claim", ["memory-64k", "flops-64k"])
def test_every_mask_and_both_counts_of_segments_are_shown(catalog, claims, claim):
    asked = [dict(one.case.workload) for one in figures_of(claims[f"offsets/{claim}"], catalog, {})[1]]
    shapes = {(one["kind"], int(one["max_segments"])) for one in asked}
    kinds = ("causal", "padding", "bottom_right")
    assert shapes >= {(kind, segments) for kind in kinds for segments in (16, 256)}


def test_cached_values_a_token(figures):
    """What `decode-cache` reads from compiled programs, from the shapes that these are given."""
    told = figures["mla/decode-cache"]
    for name, caches, at in (("naive", ("cache_k", "cache_v"), 0), ("absorb", ("cache_ckv", "cache_kpe"), 1)):
        sizes = []
        for seq in (Ki, 2 * Ki):
            given = MLA.shapes(MLA.workload(seq=seq, config="v3", phase="decode"))
            sizes.append(sum(given[cache].nbytes for cache in caches))
        values = (sizes[1] - sizes[0]) / Ki / 4
        assert told[at].name.endswith(name)
        assert values == told[at].follows.value
