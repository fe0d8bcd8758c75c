"""Selection's kernels as compiled for an H100, and that no division of their work changes the picks."""

import json
import os
import subprocess
import sys

import pytest

from tests.cli.forked import ROOT

MULTIPROCESSORS = 132
COMPILE = """
import json, sys, tempfile
from pathlib import Path

from harness.catalog import discovery, loading
from harness.catalog.build import build
from harness.core.case import Case
from harness.worker.frameworks.base import TraceLimits
from harness.worker.frameworks.triton import kernel_compiler
from harness.worker.frameworks.triton.environment import prepare_environment

found = []
with tempfile.TemporaryDirectory() as cache:
    prepare_environment(interpret=False, cache=Path(cache))
    gpu = kernel_compiler.gpu_of("cuda:h100")
    kernel_compiler.use_absent_gpu(gpu)
    from impls.attention._triton_sparse import paper

    paper.attend_branches = lambda *_: None  # whose kernels are not those of selection
    for name, fields in json.loads(sys.argv[1]):
        info = discovery.builtin().implementations[f"attention/{name}"]
        case = Case.of(info.id, {}, {"dtype": "bf16", "gated": False, **fields}, "fwd", "cuda")
        built = build(loading.load(info.module), case)
        _, recorder = kernel_compiler.compile_launches(built, "fwd", TraceLimits(120.0, 1 << 60))
        for kernel in kernel_compiler.compiled_kernels(recorder, gpu):
            facts = {"name": kernel.kernel, "grid": kernel.grid, "waves": kernel.waves}
            facts |= {"spilled": kernel.spilled_bytes, "instructions": dict(kernel.instructions)}
            found.append(facts)
print(json.dumps(found))
"""
DIVIDE = """
import torch

from impls.attention._triton_sparse import chunks, mslk, paper
from impls.attention._triton_sparse.configurations import tiles_of
from impls.attention.workload import AttentionWorkload

w = AttentionWorkload(
    seq=150, heads=6, kv_heads=2, head_dim=16, block=8, tile=24, selected=4, kernel=4, stride=2, dtype="f32"
)
tiles = tiles_of("bf16", 16)
tiles = tiles._replace(pick=tiles.pick._replace(keys=4), pick_query=tiles.pick_query._replace(keys=8))
torch.manual_seed(0)
q = torch.randint(-1, 2, (1, 1, 6, 16)).repeat(1, 150, 1, 1).float()  # exact means, and equal scores


def draw_means(number):
    return torch.randint(-2, 3, (1, number, 2, 16)).float()


def products(means):
    return torch.einsum("btkgd,bjkd->bkgtj", q.unflatten(2, (2, 3)), means)


def best(scores):
    values, order = scores.sort(dim=-1, descending=True, stable=True)
    picked = torch.where(values[..., :4] == -torch.inf, 99, order[..., :4]).sort(-1).values
    return torch.where(picked == 99, -1, picked).int()


blocks = torch.arange(19)
tile_ends = torch.arange(24, 151 + 24, 24)[:7, None]
by_tile = draw_means(19)
scores = products(by_tile)[..., ::24, :].masked_fill(blocks * 8 >= tile_ends, -torch.inf)
tile_picks = best(scores).transpose(2, 3)

form = paper.plan_paper(w, 4, 2)
by_query = draw_means(74)
starts, t = torch.arange(0, 148, 2), torch.arange(150)
logits = (products(by_query) * form.scale2).masked_fill(starts + 3 > t[:, None], -torch.inf)
logs = (logits * 0.6931471805599453).logsumexp(-1) / 0.6931471805599453
logs = torch.where(logs.isinf(), 0.0, logs)
common = torch.minimum(starts[:, None] + 4, blocks * 8 + 8) - torch.maximum(starts[:, None], blocks * 8)
masses = (torch.exp2(logits - logs[..., None]) @ (common.clamp(min=0) / 2)).sum(2)
own = t[:, None] // 8
masses = masses.masked_fill((blocks == 0) | (blocks > own - 2), torch.inf)
masses = masses.masked_fill(blocks > own, -torch.inf)
logs = logs.permute(0, 3, 1, 2).flatten(2).contiguous()

for programs in (1, 40, 2048):
    chunks.PROGRAMS = programs
    assert torch.equal(mslk.pick_blocks(mslk.plan_mslk(w), q, by_tile, tiles), tile_picks), programs
    assert torch.equal(paper.pick_blocks(form, w, q, by_query, logs, tiles), best(masses)), programs
"""


def run_python(script, *words, **variables):
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def kernels_of(*cases):
    pytest.importorskip("triton")
    found = json.loads(run_python(COMPILE, json.dumps(cases)))
    assert not any(kernel["spilled"] for kernel in found)
    return found


@pytest.mark.full
@pytest.mark.parametrize("width", [64, 128])
def test_selection_by_mean_queries_has_work_for_all_multiprocessors(width):
    one = {"stage": "select", "heads": 4, "kv_heads": 1, "head_dim": width}
    found = kernels_of(*(("triton_select", {**one, "seq": seq << 10}) for seq in (4, 16, 64, 256)))
    assert [kernel["name"] for kernel in found] == 4 * ["average", "pick_by_mean_query"]
    for kernel in found[:2]:  # 4 MiB of queries and 2,080 scores: no wave of all blocks that could run
        x, y, z = kernel["grid"]
        assert x * y * z > MULTIPROCESSORS
    assert all(kernel["waves"] >= 1 for kernel in found[2:])


@pytest.mark.long
def test_selection_by_each_query_has_warp_group_products_and_a_wave():
    heads = ({"heads": 4, "kv_heads": 1}, {"heads": 64, "kv_heads": 4})
    fields = [{"seq": 4096, "head_dim": width, **some} for width in (64, 128) for some in heads]
    found = kernels_of(*((form, each) for form in ("triton_nsa_paper", "triton_nsa_fla") for each in fields))
    picks = [kernel for kernel in found if kernel["name"] == "pick_by_probability"]
    assert len(picks) == 8
    for kernel in picks:
        assert kernel["waves"] >= 1
        assert kernel["instructions"]["wgmma"]
        assert "mma" not in kernel["instructions"]


@pytest.mark.long
def test_an_indexer_has_warp_group_products_for_few_heads_too():
    one = {"seq": 4096, "heads": 4, "kv_heads": 1}
    picks = kernels_of(*(("triton_dsa", {**one, "indexer_heads": heads}) for heads in (8, 16, 64)))
    assert [kernel["name"] for kernel in picks] == 3 * ["pick_tokens"]
    for kernel in picks:
        assert kernel["instructions"]["wgmma"]
        assert "mma" not in kernel["instructions"]


@pytest.mark.full
def test_picks_do_not_depend_on_how_the_work_is_divided():
    pytest.importorskip("triton")
    run_python(DIVIDE, TRITON_INTERPRET="1")
