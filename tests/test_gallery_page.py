"""docs/gallery.md shows every kind of chart that exists, drawn from the kept runs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GALLERY = (ROOT / "docs/gallery.md").read_text()


def kinds():
    """Modules that make a chart are called as its kind. No kept run has ceilings to draw."""
    files = [*(ROOT / "harness/report/charts").glob("*.py"), ROOT / "harness/profile/charts/components.py"]
    return {file.stem for file in files if re.search(r"(return|=) \w*Chart\(", file.read_text())}


def test_every_kind_has_its_heading_and_its_picture():
    assert set(re.findall(r"^## (\w+)$", GALLERY, re.MULTILINE)) == kinds()
    assert set(re.findall(r"\]\(charts/\w+-(\w+)\.svg\)", GALLERY)) == kinds()
    assert set(re.findall(r"^\| \[(\w+)\]\(#\w+\)", GALLERY, re.MULTILINE)) == kinds()


def test_every_kept_chart_is_in_the_gallery():
    kept = {path.name for path in (ROOT / "docs/charts").iterdir()}
    assert set(re.findall(r"\]\(charts/([^)]+)\)", GALLERY)) == kept


@pytest.mark.full
def test_the_gallery_is_drawn_from_the_kept_runs(tmp_path):
    words = ["-o", ".venv/.installed", f"BIN={Path(sys.executable).parent}", f"DRAWN={tmp_path}"]
    subprocess.run(["make", "gallery", *words], cwd=ROOT, capture_output=True, check=True, timeout=600)
    for kept in (ROOT / "docs/charts").iterdir():
        assert (tmp_path / kept.name).read_bytes() == kept.read_bytes(), kept.name
