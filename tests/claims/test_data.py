"""What the families' claims.yaml hold: every claim with its source, and arithmetic that is right."""

import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from harness.catalog.accelerators import target
from harness.claims.model import AGAINST, ANY, ClaimEvidence, Need, Verdict, Word
from harness.claims.needs import needs
from harness.claims.report import HEADLINES, page, parts
from harness.claims.verdict import judge
from impls.attention.family import FAMILY as ATTENTION
from impls.mask.family import FAMILY as MASK
from impls.mla.family import FAMILY as MLA
from impls.offsets.family import FAMILY as OFFSETS
from impls.topk.family import FAMILY as TOPK

IMPLS = Path(__file__).resolve().parents[2] / "impls"
FAMILIES = {"mask": MASK, "topk": TOPK, "offsets": OFFSETS, "mla": MLA, "attention": ATTENTION}
KI, MI, GIB = 1 << 10, 1 << 20, 1 << 30
HYPHENS = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
OPEN = 6  # claims that are not checkable here, context left out


@pytest.fixture(scope="module")
def verdicts(catalog, claims):
    """Of claims for which nothing has to be compiled or run."""
    found = {}
    for claim in claims.values():
        wanted = needs(claim, catalog)
        if all(one.kind == Need.COST for one in wanted):
            costs = {one: cost_of(catalog, one) for one in wanted}
            found[claim.name] = judge(claim, catalog, ClaimEvidence(costs=costs))
    return found


def cost_of(catalog, wanted):
    family = FAMILIES[wanted.case.family]
    semantics = catalog.implementation(wanted.case.implementation).semantics
    return family.cost_of(semantics, family.workload(**dict(wanted.case.workload)))


def reading(verdicts, claim, name):
    return next(one for one in verdicts[claim].readings if one.figure.name == name)


def alone(claims, claim, name, column="found", **other):
    """What a column that is arithmetic comes to, at the claim's shape or another."""
    (one,) = [one for one in claims[claim].figures if one.name == name]
    return getattr(one, column).value({**claims[claim].names(), **other})


# what is there


@pytest.mark.parametrize(
    ("family", "count"), [("mask", 11), ("topk", 9), ("offsets", 11), ("mla", 8), ("attention", 60)]
)
def test_every_family_has_claims(seeds, family, count):
    assert sum(claim.family == family for claim in seeds.values()) >= count


def test_ids_are_words_between_hyphens(claims):
    assert [claim.id for claim in claims.values() if not HYPHENS.fullmatch(claim.id)] == []


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
        assert all((claim.says, claim.hardware, claim.because or claim.not_checkable)), claim.name
        assert bool(claim.not_checkable) <= (claim.expect == Word.NOT_CHECKABLE), claim.name
        if claim.expect in {*AGAINST, Word.VACUOUS}:
            assert claim.because, claim.name


def test_few_claims_are_left_open(seeds):
    assert len([claim for claim in seeds.values() if claim.expect == Word.NOT_CHECKABLE]) <= OPEN


def test_hardware_that_was_not_stated_is_no_device_of_ours(claims):
    """Only where it was compiled for every device that it may have been has it targets."""
    unstated = [claim for claim in claims.values() if "not stated" in claim.hardware]
    named = [claim for claim in unstated if claim.targets]
    assert len(unstated) >= 10
    assert [c.name for c in named if c.hardware == "TPU, not stated which" and len(c.targets) < 5] == []
    assert [claim.name for claim in named if claim.hardware.startswith("GPU")] == []


def test_a_timing_is_never_contradicted(seeds):
    """No clock ran here: what is contradicted is counted, compiled or run."""
    for claim in seeds.values():
        if claim.expect == Word.CONTRADICTED:
            compared = [figure for figure in claim.figures if figure.compared]
            assert not {figure.unit for figure in compared} & {"ms", "s", "us", "TFLOP/s"}, claim.name


def test_what_only_the_hardware_would_settle_is_not_called_reproduced(seeds):
    assert [c.name for c in seeds.values() if c.needs and c.expect in {Word.REPRODUCED, Word.ELSEWHERE}] == []


def test_compiled_for_a_tpu_or_gpu_that_was_not_named_is_another_target(seeds):
    for claim in seeds.values():
        if claim.expect == Word.REPRODUCED and claim.hardware != ANY:
            assert claim.targets == ("host",), claim.name
            assert "CPU" in claim.hardware, claim.name


@pytest.mark.parametrize("family", FAMILIES)
def test_no_text_is_cut_off_by_a_comment(family):
    """Where a plain text has ` #684`, YAML takes the rest of the line for a comment."""
    raw = (IMPLS / family / "claims.yaml").read_text()
    plain = [token for token in yaml.scan(raw) if isinstance(token, yaml.ScalarToken) and token.plain]
    rests = [(token, raw[token.end_mark.index :].partition("\n")[0]) for token in plain]
    assert [(token.value, rest) for token, rest in rests if re.match(r"\s+#\d", rest)] == []


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


def test_the_words_that_need_nothing_compiled(verdicts):
    counted = Counter(found.judged for found in verdicts.values() if not found.claim.context)
    assert counted.keys() == {Word.ADDS_UP, Word.INCONSISTENT, Word.IMPLAUSIBLE, Word.NOT_CHECKABLE}
    assert counted[Word.IMPLAUSIBLE] == 1
    assert counted[Word.NOT_CHECKABLE] <= 2


def unspoken(text):
    """Of a page's claims, those whose sentence lacks the figure, one of its numbers, or a source."""
    found = []
    for name, section in parts(text).items():
        verdict = re.search(r"^- verdict: \*\*([^*]+)\*\*(?: \([^)]*\))?: (.+)", section, re.MULTILINE)
        if "/" not in name or (verdict and verdict[1] == Word.NOT_CHECKABLE):
            continue
        sources = re.search(r"^- source: (.+)", section, re.MULTILINE)
        assert verdict is not None, name
        assert sources is not None, name
        rows = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \| (.+?) \| .+? \| .+? \|$", section, re.MULTILINE)
        titles = re.findall(r"\[([^\]]+)\]\(", sources[1])
        spoken = [row for row in rows if _begins(verdict[2], row[0])]
        cells = [cell for row in spoken[:1] for cell in row[1:] if cell != "–"]
        numbers = [TRUTHS.get(one, one) for cell in cells for one in cell.removesuffix(" ✗").split("; ")]
        lacking = [one for one in (*numbers, *titles) if one not in verdict[2]]
        if not spoken or len(numbers) < 2 or not titles or lacking:
            found.append(f"{name}: {', '.join(lacking) or 'no figure'}")
    return found


TRUTHS = {"yes": "so ", "no": "not so "}  # as a row has them, and as a sentence does
PREMISE = "It shows something only where this holds. "


def _begins(sentence, name):
    told = name.replace(", at ", " at ").casefold()
    own = sentence.removeprefix(PREMISE).casefold()
    return own.startswith((f"{told}:", f"{name}:".casefold()))


def test_every_sentence_names_figure_numbers_and_source(verdicts):
    assert unspoken(page(list(verdicts.values()), {})) == []


def test_every_sentence_of_the_document_names_figure_numbers_and_source(seeds):
    text = (IMPLS.parent / "docs" / "CLAIMS.md").read_text()
    assert sorted(name for name in parts(text) if "/" in name) == sorted(seeds)
    assert unspoken(text) == []


def test_a_sentence_without_its_number_or_source_is_found():
    row = "| temp | 7 | – | ≈\u202f8; ≤ 9 ✗ | exact | compiled for host |"
    head = "## mask\n\n### mask/one\n\n- source: [Paper #1](https://a.org) @ 1\n- verdict: **implausible**: "
    told = "Temp: 7 is published, ≈\u202f8 is found here, ≤ 9 (Paper #1)."
    assert unspoken(f"{head}{told}\n\n{row}\n") == []
    for part in ("Temp", "7 is", "≈\u202f8", "≤ 9", "Paper #1"):
        assert len(unspoken(f"{head}{told.replace(part, '')}\n\n{row}\n")) == 1, part


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
            cells = table.numbers(row)
            for name, (slower, faster) in PRINTED.items():
                if not {name, slower, faster} <= cells.keys():
                    continue
                over, under, printed = cells[slower], cells[faster], cells[name]
                low = (over - 0.005) / (under + 0.005) - half_unit(printed)
                high = (over + 0.005) / (under - 0.005) + half_unit(printed)
                assert low <= printed <= high, (table.id, row)
                checked += 1
    assert checked >= 90


def test_the_fwd_bwd_table_of_0328_is_beyond_the_hardware(verdicts):
    verdict = verdicts["attention/backward-gb200-0328"]
    rate = reading(verdicts, verdict.claim.name, "rate of dense")
    assert rate.row == "128Ki"
    assert rate.found.value == pytest.approx(3.5 * 2 * 128 * KI * (128 * KI + 1) * 32 * 128 / 98.72e-3 / 1e12)
    assert rate.found.value == pytest.approx(4990, rel=1e-4)
    assert rate.at_most.value == 2500
    assert verdict.word == Word.IMPLAUSIBLE
    for row in verdict.claim.table.rows:
        cells = verdict.claim.table.numbers(row)
        if "dense_fb" in cells:
            assert cells["dense_fb"] / cells["dense"] == pytest.approx(1, abs=0.011)


RATES = {"backward-b200-0325": 1186, "backward-gb200-0326-early": 1209, "backward-gb200-0326": 1156}


@pytest.mark.parametrize(("claim", "rate"), RATES.items())
def test_earlier_tables_are_within_it(verdicts, claim, rate):
    verdict = verdicts[f"attention/{claim}"]
    rows = [verdict.claim.table.numbers(row) for row in verdict.claim.table.rows]
    (longest,) = [row for row in rows if row.get("n") == MI]
    assert 7 * MI**2 * 32 * 128 / longest["dense_fb"] / 1e9 == pytest.approx(rate, abs=0.5)
    assert reading(verdicts, verdict.claim.name, "rate of dense").agrees


def test_the_gradient_of_the_queries_is_16_gib_at_two_bytes_and_32_at_four(verdicts):
    product = reading(verdicts, "attention/dq-2m", "the product beside it")
    assert (product.published.value, product.agrees) == (32, False)
    assert product.follows.value == 16 * GIB / 1e9
    assert reading(verdicts, "attention/dq-2m", "the same at four bytes").follows.value == 32 * GIB
    assert "FlashAttention's backward keeps" in verdicts["attention/dq-2m"].sentence


@pytest.mark.parametrize(
    ("claim", "name", "length"),
    [
        ("crossover-b200", "interpolated", 25_558),
        ("crossover-b200", "interpolated, with backward", 19_458),
        ("crossover-b200", "first length of the grid ahead", 32 * KI),
        ("crossover-gb200", "forward, interpolated", 34_346),
        ("crossover-gb200", "with backward, first length of the grid ahead", 32 * KI),
        ("cuda-graph-crossover", "first length of the grid ahead", 16 * KI),
    ],
)
def test_crossovers_by_both_definitions(verdicts, claim, name, length):
    assert reading(verdicts, f"attention/{claim}", name).follows.value == pytest.approx(length, abs=0.5)


@pytest.mark.parametrize(("name", "ratio"), [("64K", 10.78), ("256K", 28.46), ("1M", 48.69)])
def test_ideal_ratios_stand_beside_the_published_speedups(verdicts, name, ratio):
    counted = reading(verdicts, "attention/ideal-ratio", f"{name}, by the family's formula")
    published = reading(verdicts, "attention/ideal-ratio", f"{name}, published speedup")
    assert counted.found.value == pytest.approx(ratio, abs=0.005)
    assert published.at_most.value == counted.found.value > published.follows.value


@pytest.mark.parametrize(("name", "ratio"), [("64K", 10.78), ("256K", 32.03), ("1M", 116.66)])
def test_the_formula_of_the_sparse_branch(verdicts, name, ratio):
    counted = reading(verdicts, "attention/ideal-ratio-sparse", f"{name}, by the family's formula")
    assert counted.found.value == pytest.approx(ratio, abs=0.01)


def test_shares_and_times_of_gating_disagree(verdicts):
    gain = reading(verdicts, "attention/gating-share", "gain of the kernel")
    assert gain.published.value == pytest.approx(7.26)
    assert gain.follows.value == pytest.approx(63 / 37 / (9 / 91))
    assert verdicts["attention/gating-share"].word == Word.INCONSISTENT


def test_the_broadcast_compares_274_billion_elements(claims):
    assert alone(claims, "mask/elements", "elements compared", "follows") == pytest.approx(274.877906944)
    assert alone(claims, "mask/elements", "as predicates, GB read as GiB", "follows") == 256 * GIB


def test_the_published_traffic_is_one_predicate_and_the_indices(claims):
    assert alone(claims, "mask/traffic", "predicate written, indices read", "follows") == 142_606_336
    assert alone(claims, "mask/traffic", "the fused loop", "follows") == pytest.approx(142.606336)


def test_comparisons_a_second_are_within_a_v5ps_vector_units(verdicts):
    rate = reading(verdicts, "mask/step-time", "comparisons a second, in one call")
    assert rate.follows.value == pytest.approx(1.791, abs=0.001)
    assert rate.at_most.value == pytest.approx(8 * 128 * 4 * 2 * 1.75e-3)


@pytest.mark.parametrize(
    ("seq", "topk", "recall", "candidates"),
    [
        (4 * KI, 64, 0.95, 2048), (8 * KI, 64, 0.95, 2048), (64 * KI, 512, 0.95, 16_384),
        (64 * KI, 2048, 0.95, 65_536), (128 * KI, 2048, 0.95, 65_536), (128 * KI, 2048, 0.90, 32_768),
        (1024 * KI, 2048, 0.95, 65_536),
    ],
)  # fmt: skip
def test_the_planners_candidates(claims, seq, topk, recall, candidates):
    name = "candidates that the second stage sorts"
    assert alone(claims, "topk/complexity", name, seq=seq, topk=topk, recall=recall) == candidates


def test_the_candidates_follow_the_selection_and_not_the_length(claims):
    name = "candidates of a row twice as long, over those of this one"
    assert alone(claims, "topk/complexity", name) == 1
    assert alone(claims, "topk/complexity", "candidates over the selection") == 32
    assert alone(claims, "topk/complexity", "candidates over the row") == 0.5


def test_the_selections_share_is_all_but_the_scores(verdicts):
    share = reading(verdicts, "topk/tpu7x-indexer", "share of the selection")
    assert (share.rows, share.agrees) == (2, True)


def test_scratch_memory_is_a_byte_for_each_pair_of_tokens(claims):
    assert alone(claims, "offsets/memory-128k", "pairwise mask", "follows") == 16 * GIB


@pytest.mark.parametrize("claim", ["memory-64k", "flops-64k"])
def test_every_mask_and_both_counts_of_segments_are_shown(catalog, claims, claim):
    asked = [dict(one.case.workload) for one in needs(claims[f"offsets/{claim}"], catalog)]
    shapes = {(one["kind"], int(one["max_segments"])) for one in asked}
    kinds = ("causal", "padding", "bottom_right")
    assert shapes >= {(kind, segments) for kind in kinds for segments in (16, 256)}


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
        assert values == claim.figures[at].follows.value({})


def test_targets_are_those_of_data_files(claims):
    named = {name for claim in claims.values() for name in claim.targets}
    assert {target(name).kind for name in named} <= {"host", "tpu", "cuda"}
