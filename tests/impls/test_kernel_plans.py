"""What Triton's kernels compile to for an H100: nothing runs.

The cases of a mark are compiled in one process, for whichever of their tests comes first.
"""

import json
import subprocess
import sys
from functools import cache
from math import prod

import pytest

from tests.cli.forked import ROOT

pytestmark = pytest.mark.torch

MULTIPROCESSORS = 132
COMMON = {"seq": 4 << 10, "heads": 4, "kv_heads": 1, "head_dim": 128, "dtype": "bf16"}
FIELDS = {
    "triton_flash": COMMON | {"gated": False},
    "triton_select": COMMON | {"gated": False, "stage": "select"},
    "triton_dsa": COMMON | {"gated": False},
    "triton_radix_select": {"topk": 2048, "rows": 64, "seq": 64 << 10, "dtype": "f32"},
}
FLASH_PRODUCTS = ["forward", "key_gradients", "query_gradients"]
SPARSE_PRODUCTS = ["attend", "query_gradients", "mean_gradients", "further_gradients", "key_gradients"]
LOOPS = {"forward": 2, "attend": 6}  # two of a branch: tiles that all rows see, and masked tiles
SPILLED = {"triton_nsa head_dim=128 heads=64 kv_heads=4": {"attend": 8}}  # by Triton 3.9 alone
# Ten of its programs fit on a multiprocessor. They are the smallest that matrix units take: 16 queries of 4
# heads by 16 blocks.
WAVES = {"triton_nsa_fla head_dim=64": 0.75}
CASES = {"full": {}, "long": {}}
ALL = []


def case(mark, form, mode="fwd_bwd", only=(), **fields):
    """The parameter of a test for this case, named after what it does not share with others."""
    label = " ".join([form, *(f"{name}={value}" for name, value in fields.items())])
    family = "topk" if form == "triton_radix_select" else "attention"
    CASES[mark][label] = f"{family}/{form}", mode, FIELDS.get(form, COMMON) | fields, only
    ALL.append(pytest.param((mark, label), id=label, marks=getattr(pytest.mark, mark)))
    return ALL[-1]


WIDTHS = ({"head_dim": 64}, {"head_dim": 128})
MANY = {"heads": 64, "kv_heads": 4}
PICK = ["pick_by_probability"]
BY_QUERY = ("triton_nsa_paper", "triton_nsa_fla")
FLASH = [case("full", "triton_flash", **width) for width in WIDTHS]
FLASH += [case("long", "triton_flash", dtype="f16")]
BY_MEAN = [case("full", "triton_nsa", **width) for width in WIDTHS]
BY_MEAN_LONGER = [
    case(mark, "triton_select", "fwd", seq=seq << 10, **width)
    for seq in (16, 64)
    for mark, width in zip(("long", "full"), WIDTHS, strict=True)
]
SPARSE_BY_QUERY = [case("long", form, **width) for form in BY_QUERY for width in WIDTHS]
SPARSE_BY_QUERY += [case("long", "triton_nsa_fla", **width, **MANY) for width in WIDTHS]
SPARSE = [*BY_MEAN, *SPARSE_BY_QUERY, case("long", "triton_nsa", dtype="f16")]
SPARSE += [case("long", "triton_nsa", **width, **MANY) for width in WIDTHS]
PICKS = [
    case("full" if seq == 4 else "long", form, "fwd", PICK, seq=seq << 10)
    for form in BY_QUERY
    for seq in (4, 16, 64)
]
PICKS += [case("long", "triton_nsa_paper", "fwd", PICK, **width, **MANY) for width in WIDTHS]
PICKS += SPARSE_BY_QUERY
INDEXERS = [case("long", "triton_dsa", "fwd", ["pick_tokens"], indexer_heads=heads) for heads in (8, 16, 64)]
TOP_K = [
    case("full", "triton_radix_select", "fwd", **fields)
    for fields in ({}, {"dtype": "bf16"}, {"seq": 128 << 10}, {"rows": 1024})
]


@cache
def compile_cases(mark):
    command = [sys.executable, "-m", "tests.impls.kernel_plans", json.dumps([*CASES[mark].values()])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(zip(CASES[mark], json.loads(done.stdout), strict=True))


@pytest.fixture
def plan(request):
    pytest.importorskip("triton")
    mark, label = request.param
    return {"label": label, "fields": CASES[mark][label][2], **compile_cases(mark)[label]}


@pytest.fixture
def launches(plan):
    assert plan["launches"]
    return plan["launches"]


def of(cases):
    return pytest.mark.parametrize("plan", cases, indirect=True)


def kernels(launches, *names):
    found = [launch for launch in launches if launch["kernel"] in names]
    assert {launch["kernel"] for launch in found} == {*names}
    return found


@of(ALL)
def test_nothing_spills(plan, launches):
    spilled = {launch["kernel"]: launch["spilled_bytes"] for launch in launches if launch["spilled_bytes"]}
    assert spilled.items() <= SPILLED.get(plan["label"], {}).items()


def check_products(launches, *names):
    for launch in kernels(launches, *names):
        assert set(launch["matrix_paths"]) == {"wgmma"}, launch


@of(SPARSE)
def test_products_of_sparse_attention_take_warp_groups_alone(launches):
    check_products(launches, *SPARSE_PRODUCTS)


@of(FLASH)
def test_products_of_flash_attention_take_warp_groups_alone(launches):
    check_products(launches, *FLASH_PRODUCTS)


@of(PICKS)
def test_products_of_selection_by_each_query_take_warp_groups_alone(launches):
    check_products(launches, *PICK)


@of(INDEXERS)
def test_products_of_an_indexer_take_warp_groups_alone_for_few_heads_too(launches):
    check_products(launches, "pick_tokens")


@of([*SPARSE, *FLASH])
def test_every_loop_with_products_copies_two_tiles_for_a_later_step(launches):
    for launch in launches:
        if launch["kernel"] in {*SPARSE_PRODUCTS, *FLASH_PRODUCTS}:
            assert launch["loops"], launch
            assert all(tiles >= 2 for tiles, _ in launch["loops"]), launch


@of([*SPARSE, *FLASH])
def test_every_loop_of_a_forward_has_products_while_two_tiles_are_copied(launches):
    forward = [launch for launch in launches if launch["kernel"] in LOOPS]
    going = [copies for launch in forward for _, copies in launch["loops"]]
    assert going == LOOPS[forward[0]["kernel"]] * [2]


@of(SPARSE)
def test_attention_and_gradients_of_means_have_blocks_for_every_multiprocessor_at_4ki(launches):
    """The forward's largest tiles, of 128 rows, have four too few of them."""
    for launch in kernels(launches, "attend"):
        assert prod(launch["grid"]) >= MULTIPROCESSORS - 4
    (means,) = kernels(launches, "mean_gradients")
    assert prod(means["grid"]) >= MULTIPROCESSORS


@of(BY_MEAN)
def test_selection_by_mean_queries_has_a_wave_at_4ki(launches):
    """Their means have a block for every multiprocessor, and 0.97 to 1.9 of a wave."""
    (picks,) = kernels(launches, "pick_by_mean_query")
    assert picks["waves"] >= 1
    for means in kernels(launches, "average"):
        assert prod(means["grid"]) >= MULTIPROCESSORS


@of(BY_MEAN_LONGER)
def test_selection_by_mean_queries_has_a_wave_at_16ki_and_64ki(launches):
    for launch in kernels(launches, "average", "pick_by_mean_query"):
        assert launch["waves"] >= 1


@of(PICKS)
def test_selection_by_each_query_has_a_wave_from_4ki_on(plan, launches):
    (launch,) = kernels(launches, *PICK)
    assert launch["waves"] >= WAVES.get(plan["label"], 1)


@of(TOP_K)
def test_top_k_has_a_wave_and_two_blocks_per_multiprocessor_from_64_rows_on(launches):
    for launch in kernels(launches, "count", "select"):
        assert launch["waves"] >= 1
        assert launch["blocks_per_sm"] >= 2


@of(TOP_K)
def test_temporaries_of_top_k_are_at_most_twice_the_scores(plan):
    rows, seq, dtype = (plan["fields"][name] for name in ("rows", "seq", "dtype"))
    assert plan["temp_bytes"] <= 2 * rows * seq * {"f32": 4, "bf16": 2}[dtype]
