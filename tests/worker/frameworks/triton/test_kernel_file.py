"""Compilation of kernels in files without registered implementations, and its errors."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.worker.frameworks.triton.kernel_file import parse_grid

pytestmark = [pytest.mark.torch, pytest.mark.full]

ROOT = Path(__file__).resolve().parents[4]
KERNELS = """\
import torch
import triton
import triton.language as tl

from .sibling import misspelt, thrice

ARCH = triton.runtime.driver.active.get_current_target().arch  # queries an absent device
print("a module that prints")


@triton.jit
def scale(x, out, n, BLOCK: tl.constexpr, ACT: tl.constexpr = "none", KIND: tl.constexpr = tl.float32):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = thrice(tl.load(x + at, mask=at < n))
    if ACT == "relu":
        y = tl.maximum(y, 0)
    tl.store(out + at, y.to(KIND), mask=at < n)


def wide_enough(configurations, named, **_):
    return [each for each in configurations if each.kwargs["BLOCK"] <= named["n"]]


@triton.autotune(
    [triton.Config({"BLOCK": block}, num_warps=4) for block in (128, 1024)],
    key=["n"],
    prune_configs_by={"early_config_prune": wide_enough},
)
@triton.heuristics({"EVEN": lambda given: given["n"] % 2 == 0})
@triton.jit
def tuned(x, n, EVEN: tl.constexpr, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), n)


@triton.jit
def calls_misspelt(x, BLOCK: tl.constexpr):
    tl.store(x, misspelt(x))


@triton.jit
def assembles(x):
    one = tl.load(x)
    tl.store(x, tl.inline_asm_elementwise("nonsense $0, $1;", "=f,f", [one], tl.float32, True, 1))


@triton.jit
def eight_bits(x):
    tl.store(x, tl.load(x).to(tl.float8e4nv).to(tl.float32))


@triton.heuristics({"BLOCK": lambda given: given["nothing"]})
@triton.jit
def guessed(x, BLOCK: tl.constexpr):
    pass


def no_kernel(x):
    return x
"""
SIBLING = """\
import triton
import triton.language as tl


@triton.jit
def thrice(x):
    return 3 * x


@triton.jit
def misspelt(x):
    return tl.lod(x)
"""
SCRIPT = """
import json, os, sys
from harness.core.errors import UsageError
from harness.worker.frameworks.triton.kernel_file import plan_kernel

def answer(question):
    try:
        return plan_kernel(question)
    except UsageError as refusal:
        return str(refusal)

answers = [answer(question) for question in json.loads(sys.argv[1])]
assert os.environ["CUDA_VISIBLE_DEVICES"] == "", "no memory of a present GPU is used"
print("\\n" + json.dumps(answers))
"""
SCALE = "x=bf16[1000], out=f32[1000], n=1000, BLOCK=256"
LAUNCHES = {
    "plain": ("scale", SCALE, "n/BLOCK", "cuda:a100,cuda:h100"),
    "typed": ("scale", f"{SCALE}, ACT='relu', KIND=tl.bfloat16, num_warps=2", "4, 2", "cuda:b200"),
    "tuned": ("tuned", "x=i32[500], n=500", "n/BLOCK", "cuda:h100"),
    "every": ("tuned", "x=i32[5Ki], n=5Ki", "n/BLOCK", "cuda:h100"),
    "newer": ("eight_bits", "x=f32[1]", "1", "cuda:a100,cuda:h100"),
}
REFUSED = {
    ("scal", SCALE, "1"): 'unknown kernel; nearest: "scale"',
    ("no_kernel", "", "1"): "unknown kernel; known: assembles, calls_misspelt, eight_bits",
    ("scale", f"{SCALE}, BLOK=1", "1"): '--args: scale has no argument BLOK; nearest: "BLOCK"',
    ("scale", "x=f32[8], BLOCK=8", "1"): "--args: scale needs out, n; use for example --args 'x=f32[64Ki]",
    ("tuned", "x=i32[8], n=8, BLOCK=8", "1"): "--args: the kernel's decorator chooses BLOCK",
    ("scale", f"{SCALE}, ACT=relu", "1"): '--args: ACT: "relu" is not a number or dtype',
    ("scale", SCALE.replace("bf16", "bf17"), "1"): '--args: x: unknown dtype "bf17"; nearest: "bf16"',
    ("scale", "x=f32[1.5]", "1"): '--args: x: "1.5" is not a whole number',
    ("scale", "n=64k", "1"): '--args: n: "64k" is not a quantity; write for example 4096 or 128Ki',
    ("scale", "n=", "1"): '--args: "n=" is not NAME=VALUE; use for example --args',
    ("scale", "n=1, n=2", "1"): "--args: n appears twice; use it only once",
    ("scale", SCALE, "m/BLOCK"): '--grid: "m" is not a number or integer argument',
    ("scale", SCALE, "x"): '--grid: "x" is not a number',
    ("scale", SCALE, "n/0"): '--grid: "n/0" is 0 blocks; a grid needs at least 1',
    ("scale", SCALE, "1,2,3,4"): '--grid: "1,2,3,4" has 4 axes, not 1 to 3',
}  # fmt: skip
UNCOMPILED = {
    ("calls_misspelt", "x=f32[8], BLOCK=8"): "(kernels.py:{}, in a called function: `return tl.lod(x)`)",
    ("assembles", "x=f32[8]"): "assembles does not compile: ptxas: Not a name of any known instruction",
    ("guessed", "x=f32[8]"): "KeyError: 'nothing'",
}  # fmt: skip
FILES = {
    "device": ("import torch\ntorch.cuda.current_device()", "device.py:2: ", "; move module-level code"),
    "lacks": ("import nothing_like_it", "No module named 'nothing_like_it'; install that module"),
    "leaves": ("import sys\nsys.exit(3)", "leaves.py:2: SystemExit: 3; move module-level code"),
    "empty": ("KERNELS = []", "the file has no Triton kernel; decorate one with @triton.jit"),
}  # fmt: skip


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """The figures of all launches in one process by name, and the errors of refused ones."""
    pytest.importorskip("triton")
    folder = tmp_path_factory.mktemp("kernels") / "theirs"
    folder.mkdir()
    texts = {"__init__": "", "kernels": KERNELS, "sibling": SIBLING}
    for name, text in {**texts, **{name: text for name, (text, *_) in FILES.items()}}.items():
        (folder / f"{name}.py").write_text(text)
    launches = [
        *(("kernels", *words) for words in LAUNCHES.values()),
        *(("kernels", *words, "cuda:h100") for words in REFUSED),
        *(("kernels", *words, "1", "cuda:h100") for words in UNCOMPILED),
        *((name, "k", "", "1", "cuda:h100") for name in FILES),
    ]
    questions = [
        {
            "file": str(folder / f"{name}.py"), "kernel": kernel, "args": args, "grid": grid,
            "targets": targets.split(","), "cache": str(folder / "cache"),
        }
        for name, kernel, args, grid, targets in launches
    ]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(questions)],
        # Authors often add the second line, which must not matter.
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "0", "TRITON_INTERPRET": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    return dict(zip([*LAUNCHES, *REFUSED, *UNCOMPILED, *FILES], found, strict=True))


def test_a_kernel_has_figures_on_every_target(answers):
    for target, answer in answers["plain"].items():
        (kernel,) = answer["kernels"]
        assert (kernel["kernel"], kernel["grid"], kernel["warps"]) == ("scale", [4], 4), target
        assert 0 < kernel["registers"] <= 255
        assert kernel["source"] == f"kernels.py:{KERNELS.splitlines().index('@triton.jit') + 2}"
    (typed,) = answers["typed"]["cuda:b200"]["kernels"]
    assert (typed["grid"], typed["warps"]) == ([4, 2], 2)


def test_a_tuned_kernel_has_a_row_per_remaining_configuration(answers):
    names = {
        name: [each["configuration"].split()[0] for each in answers[name]["cuda:h100"]["kernels"]]
        for name in ("tuned", "every")
    }
    assert names == {"tuned": ["BLOCK=128"], "every": ["BLOCK=128", "BLOCK=1024"]}


def test_a_failure_on_one_target_is_reported_next_to_the_others_figures(answers):
    assert "fp8e4nv not supported" in answers["newer"]["cuda:a100"]["reason"]
    assert len(answers["newer"]["cuda:h100"]["kernels"]) == 1


@pytest.mark.parametrize("launch", REFUSED)
def test_an_invalid_launch_is_refused(answers, launch):
    assert str(answers[launch]).startswith(REFUSED[launch])


@pytest.mark.parametrize("launch", UNCOMPILED)
def test_a_kernel_that_does_not_compile_says_why(answers, launch):
    answer = answers[launch]["cuda:h100"]
    line = KERNELS.splitlines().index("    tl.store(x, misspelt(x))") + 1
    assert answer["kernels"] == []
    assert UNCOMPILED[launch].format(line) in answer["reason"]


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_cannot_be_imported_is_refused(answers, name):
    assert all(said in answers[name] for said in FILES[name][1:]), answers[name]


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("64", (64,)),
        ("1Ki, 2, 3", (1024, 2, 3)),
        ("n/BLOCK", (4,)),
        ("n/BLOCK/2", (2,)),
        ("n / BLOCK * heads, heads", (32, 8)),
    ],
)
def test_a_grid_counts_blocks_and_rounds_up(text, blocks):
    assert parse_grid(text)({"n": 1000, "BLOCK": 256, "heads": 8}) == blocks
