"""docs/data.md and the notebook beside it: their code runs, and the page has the columns that there are."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

from harness.frames.rows import COLUMNS

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs/data.md").read_text()
NOTEBOOK = json.loads((ROOT / "docs/notebook.ipynb").read_text())
(JQ,) = re.findall(r"^jq .*$", PAGE, re.MULTILINE)
DTYPES = {"str": "text", "time": "datetime64, UTC"}


@pytest.fixture
def plots(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Code runs in the root, without a screen; what it drew is closed."""
    monkeypatch.chdir(ROOT)
    mpl.use("agg")
    from matplotlib import pyplot as plt

    yield plt
    plt.close("all")


@pytest.mark.parametrize("name", COLUMNS)
def test_the_page_lists_every_column(name: str) -> None:
    section = PAGE.split(f"## {name}()", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| `(.+?)` \| (.+?) \| (.+) \|$", section, re.MULTILINE)
    listed = [
        (column, DTYPES.get(kind, kind), meaning) for column, (kind, _, meaning) in COLUMNS[name].items()
    ]
    assert rows == listed


def test_the_five_lines_end_in_a_plot(plots: Any) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len([line for line in code.splitlines() if line]) == 5
    names: dict[str, Any] = {}
    exec(code, names)
    assert len(plots.gca().lines) == len(names["times"].columns) == 5
    assert names["times"].loc[4096, "mask/broadcast"] == 0.07737191999967763


def test_the_notebook_runs_cell_by_cell(plots: Any) -> None:
    names: dict[str, Any] = {}
    for cell in NOTEBOOK["cells"]:
        assert not cell.get("outputs")
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    assert len(names["speedups"]) > 10
    assert plots.gca().lines


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
def test_the_line_for_jq_prints_what_was_timed() -> None:
    command = JQ.replace("results/runs/", "results/reference/")
    printed = subprocess.run(command, shell=True, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    files = sorted((ROOT / "results/reference").glob("*/records.jsonl"))
    kept = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    expected = [
        [record["implementation"], record["seq"], (record.get("timing") or {}).get("median_s")]
        for record in kept
        if record["status"] == "ok"
    ]
    rows = [line.split("\t") for line in printed.splitlines()]
    assert [[name, int(seq), float(time) if time else None] for name, seq, time in rows] == expected
