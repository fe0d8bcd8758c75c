"""The table of the kernels' tiles, and the program that chooses them."""

import json
import os
import subprocess
import sys
import tomllib
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from harness.core.kernel_figures import KernelFigures

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "docs/machines"
TABLE = ROOT / "impls/attention/_triton_tiles.toml"
NO_TRITON = pytest.mark.skipif(find_spec("triton") is None, reason="the extra triton is not installed")
GPUS = (80, 86, 89, 90, 100)

pytestmark = [NO_TRITON, pytest.mark.torch]


class Tile(NamedTuple):
    rows: int
    keys: int
    warps: int
    stages: int


PRESENT, OTHER, DEEPER = Tile(64, 64, 4, 2), Tile(128, 128, 8, 2), Tile(128, 128, 8, 3)


@pytest.fixture
def programs(monkeypatch):
    monkeypatch.syspath_prepend(str(PROGRAMS))


def lines():
    return [
        (f"{room}.{kernel}", line)
        for room, kernels in tomllib.loads(TABLE.read_text()).items()
        for kernel, found in kernels.items()
        for line in found
    ]


def test_every_kernel_has_a_tile_for_every_dtype_width_and_gpu(programs):
    from impls.attention._triton_sparse.configurations import Tiles as Sparse
    from impls.attention._triton_tiles import TABLE, line_of
    from impls.attention.dense._triton_flash_function import Tiles as Flash
    from impls.attention.workload import AttentionWorkload

    rooms = {"flash": (Flash, ("bf16", "f16", "f32"), 256), "sparse": (Sparse, ("bf16", "f16", "f32"), 512)}
    assert {room: set(TABLE[room]) for room in TABLE} == {
        room: set(kind._fields) for room, (kind, _, _) in rooms.items()
    }
    from kernel_tiles import KERNELS

    assert set(KERNELS) == {f"{room}.{kernel}" for room, kernels in TABLE.items() for kernel in kernels}
    places = [
        (room, kernel, dtype, width)
        for room, (kind, dtypes, widest) in rooms.items()
        for kernel in kind._fields
        for dtype in dtypes
        for width in (8, 64, 72, 128, 192, widest)
    ]
    places += [("flash", kernel, "f64", 128) for kernel in Flash._fields]
    for room, kernel, dtype, width in places:
        for gpu in GPUS:
            line = line_of(room, kernel, AttentionWorkload(seq=4096, dtype=dtype, head_dim=width), gpu)
            assert len(line["tile"]) == 4, (room, kernel, dtype, width, gpu)


def test_every_line_says_how_its_tile_was_chosen():
    for kernel, line in lines():
        labels = {"plan", "measured"} & set(line)
        assert len(labels) == 1, (kernel, line)
        (how,) = labels
        needed = {"target", "triton", "registers", "spilled", "wgmma", "blocks"}
        needed = needed if how == "plan" else {"device", "triton", "microseconds", "speedup", "runner_up"}
        assert needed <= set(line[how]), (kernel, line)


def test_the_nearest_gpu_width_and_length_count(monkeypatch):
    from impls.attention import _triton_tiles as tiles
    from impls.attention.workload import AttentionWorkload

    def line(name, **key):
        return {"dtype": "half", "capability": 80, "tile": name, **key}

    found = [line("any"), line("narrow", width=64), line("long", width=64, seq=4096)]
    found += [line("ada", capability=86), line("hopper", capability=90, width=64)]
    monkeypatch.setitem(tiles.TABLE, "room", {"kernel": found})

    def chosen(width, seq, gpu, dtype="bf16"):
        w = AttentionWorkload(seq=seq, head_dim=width, dtype=dtype)
        return tiles.line_of("room", "kernel", w, tiles.generation(gpu))["tile"]

    assert chosen(128, 100, 80) == "any"
    assert chosen(64, 100, 80, "f16") == "narrow"
    assert chosen(64, 4096, 80) == "long"
    assert [chosen(64, 100, gpu) for gpu in (86, 89, 120)] == ["ada"] * 3
    assert [chosen(64, 4096, gpu) for gpu in (90, 100)] == ["hopper"] * 2
    assert chosen(128, 100, 90) == "any"  # a consumer card's shared memory says nothing about sm_90


def figures(**other):
    kernel = KernelFigures(
        kernel="k", source="k.py:1", grid=(264,), warps=8, registers=200, spilled_bytes=0,
        shared_bytes=90_000, tensor_memory_columns=0, blocks_per_sm=1, limiter="registers", waves=2.0,
        tail=0.0, instructions={"wgmma": 16, "float": 984}, code_bytes=0, program="",
    )  # fmt: skip
    return [replace(kernel, **other)]


def order(plans, architecture=90):
    from kernel_tiles import ranked

    return ranked(plans, architecture, by_key=False)


def test_the_ranking_prefers_warp_groups_and_drops_spills(programs):
    lost = figures(instructions={"mma": 4, "float": 6})
    assert order({PRESENT: lost, OTHER: figures()}) == [OTHER]
    assert order({PRESENT: lost, OTHER: lost}) == [OTHER, PRESENT]  # nothing to prefer
    assert order({PRESENT: figures(spilled_bytes=8), OTHER: figures(refused="too much")}) == []
    assert order({PRESENT: figures(warps=4), OTHER: figures()}) == [OTHER, PRESENT]  # too few warps
    assert order({OTHER: figures(waves=1.1), DEEPER: figures(waves=1.0)}) == [DEEPER, OTHER]  # one block less


def test_before_sm_90_a_tile_fits_consumer_cards(programs):
    large = figures(shared_bytes=120_000, instructions={"mma": 4})
    assert order({PRESENT: large}, 80) == []
    assert order({PRESENT: large}, 90) == [PRESENT]


def tuned(tmp_path, samples, faults):
    """What is decided on a GPU with these times and faults."""
    from gpu_tune import Tuning, flags

    class Device:
        def fault(self, kernel, width, seq, tile):
            return faults.get((tile, seq), "")

        def times(self, kernel, width, seq, tiles, end):
            return {tile: samples[tile] for tile in tiles}

    words = [
        "--only",
        "flash.forward",
        "--widths",
        "128",
        "--lengths",
        "4Ki",
        "--into",
        f"{tmp_path}/tiles.toml",
    ]
    tuning = Tuning(flags(words), ["NVIDIA H100 80GB HBM3", "9.0"])
    tuning.device = Device()
    return tuning._measured("flash.forward", 128, 4096, [PRESENT, OTHER])


STEADY, FASTER, NOISY = [1.0] * 12, [0.9 + 0.001 * n for n in range(12)], [0.8, 1.3] * 6


@pytest.mark.parametrize(
    ("samples", "faults", "tile"),
    [
        (FASTER, {}, OTHER),
        (NOISY, {}, PRESENT),
        (FASTER, {(OTHER, 1008): "q differs"}, PRESENT),
        (FASTER, {(OTHER, 1001): "q differs"}, PRESENT),
        (FASTER, {(PRESENT, 1008): "q differs"}, PRESENT),
    ],
    ids=["faster", "undecided", "wrong", "wrong at an odd length", "nothing to compare with"],
)
def test_a_tile_wins_only_if_it_is_correct_and_faster_in_the_whole_interval(
    programs, tmp_path, samples, faults, tile
):
    choice = tuned(tmp_path, {PRESENT: STEADY, OTHER: samples}, faults)
    assert choice.tile == tile
    assert (choice.label is None) == (tile == PRESENT)
    if choice.label:
        assert choice.label["measured"]["speedup"][1] > 1


def test_a_written_table_is_the_same_when_read(programs, tmp_path):
    import tile_table

    table = tomllib.loads(TABLE.read_text())
    tile_table.write(table, TABLE, tmp_path / "tiles.toml")
    assert tomllib.loads((tmp_path / "tiles.toml").read_text()) == table
    assert (tmp_path / "tiles.toml").read_text() == TABLE.read_text()


@pytest.mark.parametrize(
    "words", [["--minutes", "x"], ["--target", "tpu:v5p"], ["--widths", "0"], ["--what"]]
)
def test_a_wrong_flag_is_one_sentence(words):
    done = run(*words)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr


def run(*words):
    command = [sys.executable, str(PROGRAMS / "gpu_tune.py"), *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.long
def test_without_a_gpu_figures_choose_and_the_table_loads(tmp_path):
    file = tmp_path / "tiles.toml"
    words = ("--only", "sparse.pick", "--widths", "64", "--lengths", "4Ki", "--target", "cuda:h100")
    done = run(*words, "--into", str(file))
    assert done.returncode == 0, done.stderr
    assert "sparse.pick" in done.stdout
    found = tomllib.loads(file.read_text())["sparse"]["pick"]
    assert all("plan" in line for line in found)


COUNTS = """
import sys

import torch
import triton
import triton.language as tl

sys.path[:0] = [".", "docs/machines"]
from kernel_tiles import differing, noted_launches


@triton.jit
def count(x, arrived, out, SIZE: tl.constexpr):
    place = tl.arange(0, SIZE)
    if tl.atomic_add(arrived, 1) == 0:
        tl.store(out + place, tl.load(x + place) + 1)


x, arrived, out = torch.ones(8), torch.zeros(1, dtype=torch.int32), torch.zeros(8)
with noted_launches(running=True) as noted:
    count[(1,)](x, arrived, out, 8)
    count[(1,)](x, arrived, out, 4)
assert [launch.key[2][3] for launch in differing(noted, noted[:1])] == [4]
((changed, before),) = noted[0].changed
out.zero_()
noted[0].call()
assert not out.any()  # the counter says that the work is done
changed.copy_(before)
noted[0].call()
assert out.all()
"""


def test_a_launch_is_repeated_with_its_counters_set_back(tmp_path):
    (tmp_path / "counts.py").write_text(COUNTS)
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(tmp_path / "counts.py")]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


TRIED = """
import sys
from dataclasses import replace
from multiprocessing import get_context

sys.path[:0] = [".", "docs/machines"]
import gpu_tune
import kernel_times
from kernel_tiles import KERNELS

KERNELS["flash.of_query"] = replace(KERNELS["flash.of_query"], checked=(176, 161))
gpu_tune.candidates = lambda kernel, width, present, gpu: [present, present._replace(rows=128, keys=64)]
device = kernel_times.Device
kernel_times.Device = lambda name, dtype: device("cpu", dtype)
words = "--only flash.of_query --widths 64 --lengths 128 192 --minutes 0.2 --into".split()
given = gpu_tune.flags([*words, sys.argv[1]])
gpu_tune.prepare_environment(interpret=False)
gpu_tune.frameworks.preload(["triton"])
tuning = gpu_tune.Tuning(given, ["NVIDIA H100 80GB HBM3", "9.0"])
with get_context("fork").Pool(1, gpu_tune.begin, [90]) as pool:
    gpu_tune.tune(tuning, tuning.compile(pool))
"""


@pytest.mark.long
def test_the_steps_on_a_gpu_run_through_with_the_interpreter_in_its_place(tmp_path):
    file = tmp_path / "tiles.toml"
    command = [sys.executable, "-c", TRIED, str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert " as fast, " in done.stdout  # compiled, correct and timed, whichever is faster
    assert tomllib.loads(file.read_text())


FITS = """
import json, sys
sys.path.insert(0, "docs/machines")
from kernel_tiles import KERNELS, Job, begin, compile_tile
from impls.attention._triton_tiles import Tile, line_of
from impls.attention.workload import AttentionWorkload

begin(89)
found = {}
places = [(kernel, dtype, width) for kernel in KERNELS for dtype in ("bf16", "f32") for width in (128, 256)]
places += [(kernel, "f64", 128) for kernel in KERNELS if kernel.startswith("flash")]
for kernel, dtype, width in places:
    w = AttentionWorkload(seq=4096, dtype=dtype, head_dim=width)
    tile = Tile(*line_of(*kernel.split("."), w, 89)["tile"])
    job = Job(kernel, dtype, width, (4096,), tile, tile._replace(warps=2 * tile.warps), "cuda:sm_89")
    found[f"{kernel} {dtype} {width}"] = [each.refused for each in compile_tile(job)[0]]
print(json.dumps(found))
"""


@pytest.mark.long
def test_every_tile_of_consumer_cards_fits_their_shared_memory():
    done = subprocess.run([sys.executable, "-c", FITS], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert all(found.values())
    assert {place: refusals for place, refusals in found.items() if any(refusals)} == {}
