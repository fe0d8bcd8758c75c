"""What is said of Pallas kernels on TPUs: VMEM of what there is, blocks off the tile, estimates far off."""

from dataclasses import replace

import pytest

from harness.core.record import Cost
from harness.core.static_figures import Static
from harness.core.tpu_kernel_figures import OnChipOverflow, OperandBlock, TpuKernelFigures
from harness.report.tables.targets import targets_table
from harness.report.tables.tpu_kernels import tpu_kernel_lines, tpu_kernel_page, tpu_kernels_table
from tests.report.tables.columns import notes, texts

V5P = "tpu:v5p"
WHOLE = OperandBlock("q_ref", (8, 65536, 128), (128, 128), "bfloat16", "vmem", (16, 128))
CUT = OperandBlock("k_ref", (8, 65536, 64), (8, 64), "bfloat16", "vmem", (16, 128))
SCALARS = OperandBlock("next_ref", (1, 8), (1, 8), "int8", "smem", (32, 128))
KERNEL = TpuKernelFigures(
    kernel="flash",
    source="flash.py:12",
    grid=(8, 512, 512),
    steps=8 * 512 * 512,
    vmem_bytes=448 << 10,
    vmem_limit_bytes=16 << 20,
    scratch_bytes=192 << 10,
    semaphores=2,
    blocks=(SCALARS, WHOLE, CUT),
    program="sha256:1",
    author_flops=int(3e12),
)
OVERFLOW = OnChipOverflow("vmem", 32 << 20, 16 << 20)
REFUSED = replace(KERNEL, kernel="wide", vmem_bytes=32 << 20, refused=OVERFLOW.sentence())


@pytest.fixture
def panel(suite, record, static):
    def build(*kernels, flops=1e12, mode="fwd", **figures):
        planned = replace(static(temp_bytes=0), tpu_kernels=kernels, **figures)
        made = record("scatter", 65536, mode=mode, static={V5P: planned}, cost=Cost(flops=flops))
        (found,) = suite([made]).panels.values()
        return found

    return build


def test_the_fullest_kernel_is_the_answer(panel):
    emptier = replace(KERNEL, kernel="other", vmem_bytes=1 << 10)
    (line,) = tpu_kernel_lines(panel(emptier, KERNEL, flops=None), V5P)
    takes = "takes 448 KiB of the 16 MiB of VMEM that it gets, in 2Mi steps."
    assert line == f"tpu:v5p: every kernel fits; flash of scatter at 64Ki {takes}"


def test_what_does_not_fit_comes_first(panel):
    first, second = tpu_kernel_lines(panel(KERNEL, REFUSED, flops=None), V5P)
    assert first.startswith(
        "tpu:v5p: wide of scatter at 64Ki needs 32.0 MiB of VMEM, 16.0 MiB more than it gets"
    )
    assert "every kernel fits" not in second


@pytest.mark.parametrize(("flops", "told"), [(1e12, "3.00×"), (1.6e12, ""), (9e12, "0.333×"), (4e12, "")])
def test_an_estimate_twice_the_formula_or_half_of_it_is_told(panel, flops, told):
    estimates = [
        line for line in tpu_kernel_lines(panel(KERNEL, flops=flops), V5P) if "by its author" in line
    ]
    assert len(estimates) == bool(told)
    assert all(told in line for line in estimates)


def test_calls_count_and_a_kernel_without_an_estimate_compares_nothing(panel):
    twice = replace(KERNEL, calls=2)
    assert "6.00×" in tpu_kernel_lines(panel(twice), V5P)[-1]
    silent = replace(KERNEL, author_flops=None)
    assert not any("by its author" in line for line in tpu_kernel_lines(panel(KERNEL, silent), V5P))
    assert not any("by its author" in line for line in tpu_kernel_lines(panel(KERNEL, mode="bwd"), V5P))


def test_the_table_names_blocks_off_the_tile_and_why_a_kernel_is_refused(panel):
    table = tpu_kernels_table(panel(KERNEL, REFUSED), V5P)
    assert texts(table, "unaligned") == ["k_ref 8×64"] * 2
    assert texts(table, "VMEM") == ["448 KiB", "32 MiB"]
    assert notes(table, "VMEM", 1) == [REFUSED.refused]
    assert texts(table, "grid")[0] == "8×512×512"


def test_a_grid_that_is_known_only_when_it_runs(panel):
    table = tpu_kernels_table(panel(replace(KERNEL, grid=(8, -1), steps=-1)), V5P)
    assert (texts(table, "grid"), texts(table, "steps")) == (["8×?"], ["?"])


def test_a_page_has_every_operand(record):
    page = "\n".join(tpu_kernel_page(record("scatter", 65536, static={V5P: Static.none("x")}), V5P))
    assert page == ""
    planned = replace(Static.none("x"), tpu_kernels=(KERNEL,))
    page = "\n".join(tpu_kernel_page(record("scatter", 65536, static={V5P: planned}), V5P))
    assert "k_ref: bfloat16 blocks of 8×64 from 8×64Ki×64 in vmem, not whole tiles of 16×128" in page
    assert "next_ref: int8 blocks of 1×8 from 1×8 in smem\n" in page
    assert "192 KiB of scratch, 2 semaphores" in page
    assert "its author's cost_estimate: 3.00e12 FLOPs; the family's formula, forward: none" in page


def test_a_core_s_memory_is_not_the_target_s(suite, record):
    none = replace(Static.none(f"wide {OVERFLOW.sentence()}"), fits=False, overflow=OVERFLOW)
    (panel,) = suite([record("scatter", 4096, static={V5P: none})]).panels.values()
    table = targets_table(panel, {V5P: 95 << 30})
    assert texts(table, "fits") == ["no, vmem"]
    assert notes(table, "fits", 0) == [f"at 4Ki: wide {OVERFLOW.sentence()}"]
