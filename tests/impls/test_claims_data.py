"""What the families' claims.yaml hold: every number with its source, and arithmetic that is right."""

import re

import pytest

from harness.analysis.claims import judge
from harness.analysis.expression import Evidence
from harness.catalog import describe
from harness.spec.claim import ANY, CONTRADICTED, IMPLAUSIBLE, NOT_CHECKABLE, REPRODUCED, Need
from harness.sweep.claims import claims_of
from harness.sweep.needs import needs
from impls.attention.family import FAMILY as ATTENTION
from impls.mask.family import FAMILY as MASK
from impls.mla.family import FAMILY as MLA
from impls.offsets.family import FAMILY as OFFSETS
from impls.topk.family import FAMILY as TOPK

FAMILIES = {"mask": MASK, "topk": TOPK, "offsets": OFFSETS, "mla": MLA, "attention": ATTENTION}
KI, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
HYPHENS = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
QUOTIENT = re.compile(r"(\w+) / (\w+)")


@pytest.fixture(scope="module")
def catalog():
    return describe.catalog()


@pytest.fixture(scope="module")
def claims(catalog):
    return {claim.name: claim for name in FAMILIES for claim in claims_of(catalog.family(name), catalog)}


@pytest.fixture(scope="module")
def verdicts(catalog, claims):
    """Of claims for which nothing has to be compiled or run."""
    found = {}
    for claim in claims.values():
        wanted = needs(claim, catalog)
        if all(one.kind == Need.COST for one in wanted):
            costs = {one: cost_of(catalog, one) for one in wanted}
            found[claim.name] = judge(claim, catalog, Evidence(costs=costs))
    return found


def cost_of(catalog, wanted):
    family = FAMILIES[wanted.case.family]
    semantics = catalog.implementation(wanted.case.implementation).semantics
    return family.cost_of(semantics, family.workload(**dict(wanted.case.workload)))


def figure(verdicts, claim, name):
    return next(read for read in verdicts[claim].figures if read.figure.name == name)


def alone(claims, claim, name, **other):
    """What our side of a figure comes to that is arithmetic, at the claim's shape or another."""
    (one,) = [one for one in claims[claim].figures if one.name == name]
    return one.ours.value({**claims[claim].names(), **other})


def half_unit(cell):
    """What a printed number may be off by: half a unit of its last digit, of two at most."""
    digits = len(f"{cell:.2f}".rstrip("0").partition(".")[2])
    return 0.5 * 10.0**-digits


@pytest.mark.parametrize(
    ("family", "count"), [("mask", 9), ("topk", 14), ("offsets", 6), ("mla", 10), ("attention", 45)]
)
def test_every_family_has_claims(claims, family, count):
    assert sum(claim.family == family for claim in claims.values()) >= count


def test_ids_are_words_between_hyphens(claims):
    assert [claim.id for claim in claims.values() if not HYPHENS.fullmatch(claim.id)] == []


def test_nothing_here_corresponds_to_hardware_that_was_not_stated(claims):
    unstated = [claim for claim in claims.values() if claim.hardware.endswith("not stated which")]
    assert len(unstated) >= 15
    assert [claim.name for claim in unstated if claim.target] == []


def test_every_claim_says_where_it_comes_from_and_why_it_is_doubted(claims):
    for claim in claims.values():
        assert all((claim.says, claim.source, claim.version, claim.hardware)), claim.name
        if claim.expect in {CONTRADICTED, IMPLAUSIBLE}:
            assert claim.because, claim.name
        assert bool(claim.not_checkable) == (claim.expect == NOT_CHECKABLE), claim.name


def test_every_verdict_is_the_one_written_down(verdicts):
    assert {name: found.word for name, found in verdicts.items()} == {
        name: found.claim.expect for name, found in verdicts.items()
    }
    assert len(verdicts) >= 65


def test_printed_ratios_follow_from_their_rows(claims):
    """Without the evaluator, and tighter: within what rounding to the printed digits allows."""
    checked = 0
    for claim in claims.values():
        for one in claim.figures:
            shape = QUOTIENT.fullmatch(one.ours.text) if one.each and one.ours else None
            if not shape or claim.table is None or one.theirs is None:
                continue
            for row in claim.table.rows:
                cells = claim.table.numbers(row)
                if one.theirs.text not in cells:
                    continue
                over, under, printed = cells[shape[1]], cells[shape[2]], cells[one.theirs.text]
                low = (over - 0.005) / (under + 0.005) - half_unit(printed)
                high = (over + 0.005) / (under - 0.005) + half_unit(printed)
                assert low <= printed <= high, (claim.name, row)
                checked += 1
    assert checked >= 25


def test_the_fwd_bwd_table_of_0328_is_beyond_the_hardware(verdicts):
    verdict = verdicts["attention/backward-gb200-0328"]
    rate = figure(verdicts, verdict.claim.name, "rate of dense")
    assert rate.row == "128Ki"
    assert rate.ours == pytest.approx(3.5 * 2 * (128 * KI) ** 2 * 32 * 128 / 98.72e-3)
    assert rate.ours == pytest.approx(4990e12, rel=1e-4)
    assert verdict.word == IMPLAUSIBLE
    for row in verdict.claim.table.rows:
        cells = verdict.claim.table.numbers(row)
        if "dense_fb" in cells:
            assert cells["dense_fb"] / cells["dense"] == pytest.approx(1, abs=0.011)


@pytest.mark.parametrize(
    ("claim", "rate"),
    [("backward-b200-0325", 1186), ("backward-gb200-0326-early", 1209), ("backward-gb200-0326", 1156)],
)
def test_earlier_tables_are_within_it(verdicts, claim, rate):
    verdict = verdicts[f"attention/{claim}"]
    rows = [verdict.claim.table.numbers(row) for row in verdict.claim.table.rows]
    (longest,) = [row for row in rows if row.get("n") == 1024 * KI]
    assert 7 * (1024 * KI) ** 2 * 32 * 128 / longest["dense_fb"] / 1e9 == pytest.approx(rate, abs=0.5)
    assert verdict.word == NOT_CHECKABLE


def test_the_gradient_of_the_queries_is_16_gib(verdicts):
    read = figure(verdicts, "attention/dq-2m", "bytes")
    assert read.ours == 16 * GIB
    assert read.agrees is False
    assert verdicts["attention/dq-2m"].word == IMPLAUSIBLE


@pytest.mark.parametrize(
    ("claim", "name", "length"),
    [
        ("crossover-b200", "interpolated", 25_558),
        ("crossover-b200", "interpolated, with backward", 19_458),
        ("crossover-b200", "first length ahead", 32 * KI),
        ("crossover-gb200", "interpolated", 25_439),
        ("crossover-gb200", "first length ahead", 32 * KI),
    ],
)
def test_crossovers_by_both_definitions(verdicts, claim, name, length):
    assert figure(verdicts, f"attention/{claim}", name).ours == pytest.approx(length, abs=0.5)


@pytest.mark.parametrize(("name", "ratio"), [("64K", 10.78), ("256K", 28.46), ("1M", 48.69)])
def test_ideal_ratios_stand_beside_the_published_speedups(verdicts, name, ratio):
    counted = figure(verdicts, "attention/ideal-ratio", f"{name}, by the family's formula")
    published = figure(verdicts, "attention/ideal-ratio", f"{name}, published speedup")
    assert counted.ours == pytest.approx(ratio, abs=0.005)
    assert published.upto == counted.ours > published.ours


@pytest.mark.parametrize(("name", "ratio"), [("64K", 10.78), ("256K", 32.03), ("1M", 116.66)])
def test_the_formula_allows_the_sparse_branch_more_than_the_hand_count(verdicts, name, ratio):
    read = figure(verdicts, "attention/ideal-ratio-sparse", f"{name}, by the family's formula")
    assert read.ours == pytest.approx(ratio, abs=0.01)
    assert read.agrees is None


@pytest.mark.parametrize("claim", ["gating-share"])
def test_a_document_that_contradicts_itself_is_implausible(verdicts, claim):
    assert verdicts[f"attention/{claim}"].word == IMPLAUSIBLE
    assert all(read.figure.wrong for read in verdicts[f"attention/{claim}"].figures)


def test_the_broadcast_compares_274_billion_elements(verdicts):
    assert figure(verdicts, "mask/elements", "elements compared").ours == 274_877_906_944
    assert figure(verdicts, "mask/elements", "as predicates, GB read as GiB").ours == 256 * GIB


def test_the_published_traffic_is_one_predicate_and_the_indices(claims):
    assert alone(claims, "mask/traffic", "predicate written, indices read") == 142_606_336


@pytest.mark.parametrize(
    ("seq", "topk", "recall", "candidates"),
    [
        (4 * KI, 64, 0.95, 2048),
        (8 * KI, 64, 0.95, 2048),
        (64 * KI, 512, 0.95, 16_384),
        (64 * KI, 2048, 0.95, 65_536),
        (128 * KI, 2048, 0.95, 65_536),
        (128 * KI, 2048, 0.90, 32_768),
        (1024 * KI, 2048, 0.95, 65_536),
    ],
)
def test_the_planners_candidates(claims, seq, topk, recall, candidates):
    name = "candidates that the second stage sorts"
    assert alone(claims, "topk/complexity", name, seq=seq, topk=topk, recall=recall) == candidates


def test_the_candidates_follow_the_selection_and_not_the_length(verdicts):
    verdict = verdicts["topk/complexity"]
    assert [read.ours for read in verdict.figures] == [65_536, 1, 32, 0.5]
    assert verdict.word == NOT_CHECKABLE


def test_the_selections_share_is_all_but_the_scores(verdicts):
    shares = {read.figure.name: read.ours for read in verdicts["topk/tpu7x-share"].figures}
    assert shares == pytest.approx({"share of the prefill": 84.746, "share of the decode": 56}, abs=0.001)
    assert all(read.agrees for read in verdicts["topk/tpu7x-share"].figures)


def test_scratch_memory_as_bytes_a_token(claims):
    assert alone(claims, "offsets/memory-128k", "the same as a byte per pair of tokens") == 16 * GIB
    assert alone(claims, "offsets/memory-128k", "the same as three int32 rows") == 1.5 * MIB


@pytest.mark.parametrize("claim", ["memory-64k", "flops-64k"])
def test_every_mask_and_both_counts_of_segments_are_shown(catalog, claims, claim):
    asked = [dict(one.case.workload) for one in needs(claims[f"offsets/{claim}"], catalog)]
    shapes = {(one["kind"], int(one["max_segments"])) for one in asked}
    kinds = ("causal", "padding", "bottom_right")
    assert shapes == {(kind, segments) for kind in kinds for segments in (16, 256)}


def test_cached_values_a_token(claims):
    """What `decode-cache` reads from compiled programs, from the shapes that these are given."""
    claim = claims["mla/decode-cache"]
    for name, caches, at in (("naive", ("cache_k", "cache_v"), 0), ("absorb", ("cache_ckv", "cache_kpe"), 1)):
        sizes = []
        for seq in (KI, 2 * KI):
            given = MLA.shapes(MLA.workload(seq=seq, config="v3", phase="decode"))
            sizes.append(sum(given[cache].nbytes for cache in caches))
        values = (sizes[1] - sizes[0]) / KI / 4
        assert claim.figures[at].name.endswith(name)
        assert values == claim.figures[at].theirs.value({})


def test_arithmetic_on_published_rows_needs_no_hardware(claims):
    """Such a verdict would otherwise read as if another device had confirmed a measurement."""
    found = [claim for claim in claims.values() if claim.expect == REPRODUCED]
    assert {claim.name for claim in found if claim.hardware != ANY} == {"mask/out-of-memory"}
    assert claims["mask/out-of-memory"].target == "host"
