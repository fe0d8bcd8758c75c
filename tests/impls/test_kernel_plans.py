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
WIDTHS = ({"head_dim": 64}, {"head_dim": 128})
MANY = {"heads": 64, "kv_heads": 4}
OF_FLASH = {"forward", "key_gradients", "query_gradients"}
OF_SPARSE = {"attend", "query_gradients", "mean_gradients", "further_gradients", "key_gradients"}
BRANCHES, LOOPS = 3, 2  # of a branch: over tiles that all rows see, and over masked tiles
CASES = {"full": {}, "long": {}}
ALL = []


def add(mark, name, fields, common=COMMON, mode="fwd_bwd", only=()):
    """The parameter of a test for this case, named after what it does not share with others."""
    label = " ".join([name.rpartition("/")[2], *(f"{field}={value}" for field, value in fields.items())])
    CASES[mark][label] = name, mode, common | fields, only
    ALL.append(pytest.param((mark, label), id=label, marks=getattr(pytest.mark, mark)))
    return ALL[-1]


def sparse(mark, form, **fields):
    return add(mark, f"attention/{form}", fields)


def flash(mark, **fields):
    return add(mark, "attention/triton_flash", fields, COMMON | {"gated": False})


def select(seq, **width):
    common = COMMON | {"gated": False, "stage": "select"}
    return add("full", "attention/triton_select", {"seq": seq << 10, **width}, common, "fwd")


def picks(mark, form, **fields):
    return add(mark, f"attention/{form}", fields, COMMON, "fwd", ["pick_by_probability"])


def indexer(heads):
    common = COMMON | {"gated": False}
    return add("long", "attention/triton_dsa", {"indexer_heads": heads}, common, "fwd", ["pick_tokens"])


def top_k(**fields):
    return add(
        "full", "topk/triton_radix_select", {"rows": 64, "seq": 64 << 10, **fields}, {"topk": 2048}, "fwd"
    )


BY_MEAN = [sparse("full", "triton_nsa", **width) for width in WIDTHS]
BY_MEAN_LONGER = [select(seq, **width) for seq in (16, 64) for width in WIDTHS]
FLASH = [flash("full", **width) for width in WIDTHS] + [flash("long", dtype="f16")]
BY_QUERY = [sparse("long", "triton_nsa_fla", **width, **MANY) for width in WIDTHS]
BY_QUERY += [
    sparse("long", form, **width) for form in ("triton_nsa_paper", "triton_nsa_fla") for width in WIDTHS
]
SPARSE = [*BY_MEAN, *BY_QUERY, sparse("long", "triton_nsa", dtype="f16")]
SPARSE += [sparse("long", "triton_nsa", **width, **MANY) for width in WIDTHS]
PICKS = [
    picks(mark, form, seq=seq << 10)
    for form in ("triton_nsa_paper", "triton_nsa_fla")
    for seq, mark in ((4, "full"), (16, "long"), (64, "full"))
]
PICKS += [picks("long", "triton_nsa_paper", **width, **MANY) for width in WIDTHS]
INDEXERS = [indexer(heads) for heads in (8, 16, 64)]
TOP_K = [
    top_k(dtype="f32"),
    top_k(dtype="bf16"),
    top_k(dtype="f32", seq=128 << 10),
    top_k(dtype="f32", rows=1024),
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
    return compile_cases(mark)[label]


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
def test_nothing_spills(launches):
    assert {launch["kernel"]: launch["spilled"] for launch in launches if launch["spilled"]} == {}


@of(SPARSE)
def test_products_of_sparse_attention_take_warp_groups_alone(launches):
    for launch in kernels(launches, *OF_SPARSE):
        assert set(launch["matrix"]) == {"wgmma"}, launch


@of(FLASH)
def test_products_of_flash_attention_take_warp_groups_alone(launches):
    for launch in kernels(launches, *OF_FLASH):
        assert set(launch["matrix"]) == {"wgmma"}, launch


@of([*PICKS, *BY_QUERY])
def test_products_of_selection_by_each_query_take_warp_groups_alone(launches):
    (launch,) = kernels(launches, "pick_by_probability")
    assert set(launch["matrix"]) == {"wgmma"}


@of(INDEXERS)
def test_products_of_an_indexer_take_warp_groups_alone_for_few_heads_too(launches):
    (launch,) = kernels(launches, "pick_tokens")
    assert set(launch["matrix"]) == {"wgmma"}


@of([*SPARSE, *FLASH])
def test_every_loop_with_products_copies_two_tiles_for_a_later_step(launches):
    for launch in launches:
        if launch["kernel"] in OF_SPARSE | OF_FLASH:
            assert launch["loops"], launch
            assert all(tiles >= 2 for tiles, _ in launch["loops"]), launch


@of(SPARSE)
def test_every_loop_of_sparse_attentions_forward_has_products_while_copies_go_on(launches):
    going = [copies for launch in kernels(launches, "attend") for _, copies in launch["loops"]]
    assert going == BRANCHES * LOOPS * [2]  # a further tile's keys and values


@of(FLASH)
def test_every_loop_of_flash_attentions_forward_has_products_while_copies_go_on(launches):
    (launch,) = kernels(launches, "forward")
    assert [copies for _, copies in launch["loops"]] == LOOPS * [2]


@of(SPARSE)
def test_attention_and_gradients_of_means_have_blocks_for_every_multiprocessor_at_4ki(launches):
    """The forward's largest tiles, of 128 rows, have four too few of them."""
    for launch in kernels(launches, "attend"):
        assert prod(launch["grid"]) >= MULTIPROCESSORS - 4
    (means,) = kernels(launches, "mean_gradients")
    assert prod(means["grid"]) >= MULTIPROCESSORS


@of(BY_MEAN)
def test_selection_by_mean_queries_has_blocks_for_every_multiprocessor_at_4ki(launches):
    for launch in kernels(launches, "average", "pick_by_mean_query"):
        assert prod(launch["grid"]) >= MULTIPROCESSORS


@of(BY_MEAN_LONGER)
def test_selection_by_mean_queries_has_a_wave_at_16ki_and_64ki(launches):
    for launch in kernels(launches, "average", "pick_by_mean_query"):
        assert launch["waves"] >= 1


@of([*PICKS, *BY_QUERY])
def test_selection_by_each_query_has_a_wave_from_4ki_on(launches):
    (launch,) = kernels(launches, "pick_by_probability")
    assert launch["waves"] >= 1


@of(TOP_K)
def test_top_k_has_a_wave_and_two_blocks_per_multiprocessor_from_64_rows_on(launches):
    for launch in kernels(launches, "count", "select"):
        assert launch["waves"] >= 1
        assert launch["blocks_per_sm"] >= 2


@of(TOP_K)
def test_temporaries_of_top_k_are_at_most_twice_the_scores(request, plan):
    mark, label = request.node.callspec.params["plan"]
    fields = CASES[mark][label][2]
    assert plan["temp_bytes"] <= 2 * fields["rows"] * fields["seq"] * {"f32": 4, "bf16": 2}[fields["dtype"]]
