"""Another project's repository: kernels in a package, and tests from the documentation."""

import os
import re
import subprocess
import sys
from pathlib import Path
from string import Template

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/testing.md").read_text()
SCATTER = Template((ROOT / "impls/mask/implementation.template").read_text())
FUSED = """

def fused_attention(q, k, v):
    from torch.nn.functional import scaled_dot_product_attention

    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    return scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True).transpose(1, 2)
"""
FILES = {
    "src/my_kernels.py": SCATTER.substitute(name="my_scatter", title="My scatter") + FUSED,
    "tests/test_page.py": re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0],
    "src/mine/__init__.py": "",
    "src/mine/shared.py": "SIGN = -1\n",
    "src/mine/kernels.py": """
from impls.topk.family import TopkWorkload
from seqsweep import implementation

from .shared import SIGN


@implementation(framework="numpy", semantics="exact")
def by_sorting(w: TopkWorkload, *, reverse: bool = False):
    import numpy as np

    def select(scores):
        order = np.argsort(scores if reverse else SIGN * scores, axis=-1)[..., : w.topk]
        return np.take_along_axis(scores, order, axis=-1), order

    return select
""",
    "conftest.py": 'pytest_plugins = ["seqsweep.fixtures"]\n',
    "pytest.ini": "[pytest]\npythonpath = src\n",
    "tests/test_kernels.py": """
from mine.kernels import by_sorting
from seqsweep.testing import check


def test_right():
    check(by_sorting, seq=[256, 512], topk=64, rows=2)


def test_wrong():
    check(by_sorting, "topk", options={"reverse": True}, checks=False, seq=256, topk=64, rows=2)


def test_time(seqsweep_case):
    record = seqsweep_case(by_sorting, seq=256, topk=64, rows=2, budget="50ms")
    assert record.timing.low_s is None or record.timing.low_s <= record.timing.median_s
""",
}


@pytest.mark.full
def test_the_repositorys_tests_run(tmp_path):
    for name, text in FILES.items():
        file = tmp_path / "repository" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "tmp").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'base'}"],
        cwd=tmp_path / "repository",
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "harness/entry")]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": str(tmp_path / "tmp"),
            "COLUMNS": "200",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed, 5 passed" in done.stdout, done.stdout + done.stderr
    assert "E       AssertionError: 1 of 1 cases failed" in done.stdout
    assert "rerun: seqsweep check 'topk/by_sorting[reverse=true]' --plugin" in done.stdout
    assert "harness/testing" not in done.stdout.split("Captured")[0], "the error points to the test's line"
    left = {path.relative_to(tmp_path / "repository") for path in (tmp_path / "repository").rglob("*.*")}
    assert {str(path) for path in left} == set(FILES)
    assert len(list((tmp_path / "tmp").glob("seqsweep-*/runs/*"))) == 1, "only the failed run is stored"
