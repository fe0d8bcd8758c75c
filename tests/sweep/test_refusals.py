"""Every refusal of a bench.yaml and of the flags on it: the whole sentence, with its line.

`golden/bench_refusals.jsonl` has one a line: a `bench` (or the one that tests share), `names` of suites,
flags, and what is said. `python -m tests.sweep.test_refusals` writes that anew; read the difference.
"""

import json
import os
import tempfile
from pathlib import Path

import pytest

from harness.catalog import discovery
from harness.core.errors import UsageError
from harness.sweep.config import load
from harness.sweep.overrides import Overrides
from harness.sweep.schedule import plan
from tests.sweep.conftest import TWO_SUITES, planted_catalog

FILE = Path(__file__).parents[1] / "golden/bench_refusals.jsonl"
BUILTIN = discovery.builtin()
REFUSALS = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def refusal(bench=TWO_SUITES, *, names=(), flags=None, planted=True):
    Path("bench.yaml").write_text(bench)
    with pytest.raises(UsageError) as caught:
        plan(
            load(Path("bench.yaml")),
            planted_catalog() if planted else BUILTIN,
            names,
            Overrides(**(flags or {})),
        )
    assert caught.value.exit_code == 2
    return str(caught.value)


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case["says"][:60])
def test_a_slip_is_told_with_its_place_and_what_to_write(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert refusal(**case["given"]) == case["says"]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        lines = [json.dumps({**one, "says": refusal(**one["given"])}, ensure_ascii=False) for one in REFUSALS]
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")
