"""What README and docs/ show is run: the table is what `show` prints, the ten-line file works."""

import os
import re

import pytest

from harness.catalog import discovery
from harness.catalog.family_questions import derive
from harness.catalog.models import model
from harness.core.units import format_count
from tests.cli.forked import ROOT, call_forked

README, READING, TARGETS, COMMANDS = (
    (ROOT / name).read_text()
    for name in ("README.md", "docs/reading.md", "docs/targets.md", "docs/commands.md")
)


def call(*words, **environment):
    code, out, err = call_forked(ROOT, words, {**os.environ, **environment})
    assert code == 0, err
    return "\n".join(line.rstrip() for line in out.splitlines())


def test_the_table_is_what_show_prints():
    command = re.search(r"`seqsweep (show attention --run \S+)`", READING)
    assert command is not None
    printed = call(*command[1].split(), COLUMNS="118")
    assert printed.split("\n\nwall ")[0] in READING


def test_the_first_sentence_is_the_chart_title():
    """The claim of the README is what the records say today."""
    drawn = (ROOT / "docs/charts/attention-speedup.svg").read_text()
    title = re.search(r"beats dense from \S+: [\d.]+×", README)
    assert title is not None
    assert title[0] in " ".join(re.sub(r"<[^>]+>", " ", drawn).split())


def test_the_receipt_shown_is_of_the_kept_run():
    run = re.search(r"--run (\S+)`", READING)
    assert run is not None
    printed = call("report", "attention", "--run", run[1], "--pr").replace("\\", "").splitlines()
    quoted = re.findall(r"^> (\S.+)$", README, re.MULTILINE)
    assert len(quoted) == 6
    assert [line for line in quoted if line not in printed] == []


def test_the_models_shown_have_these_layers_positions_and_implementations():
    """What follows from a preset; times and the longest contexts of compilers do not."""
    catalog = discovery.builtin()
    steps = re.findall(
        r"^\| (?:(\S+) (?:over \d+ devices )?at \S+, (\d+)(?: of (\d+))? layers)? ?\| (\w+): (.+?) \|",
        README,
        re.MULTILINE,
    )
    assert len(steps) == 5
    name, calls, layers = "", "", ""
    for first, own, whole, family, words in steps:
        name, calls, layers = (first, own, whole or own) if first else (name, calls, layers)
        assert derive(catalog.family(family), name, "decode").layers == int(calls)
        assert model(name).layers == int(layers)
        for implementation in re.findall(r"`(\w+)`", words):
            assert f"{family}/{implementation}" in catalog.implementations
    longest = re.findall(r"^\| (\S+) \| all (\S+): ", README, re.MULTILINE)
    assert len(longest) == 3
    assert longest == [(name, format_count(model(name).positions)) for name, _ in longest]


def test_the_charts_are_those_of_the_run_that_the_pages_name():
    """test_gallery_page.py draws all of them again."""
    gallery = (ROOT / "Makefile").read_text()
    for page in (READING, TARGETS):
        run = re.search(r"--run results/reference/(\S+)`", page)
        assert run is not None
        assert run[1] in gallery


def test_every_picture_is_there():
    for page, text in ((ROOT / "README.md", README), (ROOT / "docs/reading.md", READING)):
        pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
        assert pictures
        assert [name for name in pictures if not (page.parent / name).is_file()] == []


def test_every_link_leads_somewhere():
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("[a-z]*.md"))):
        links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
        missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
        assert not missing, page


@pytest.mark.jax
def test_the_ten_line_file_is_an_implementation(tmp_path):
    example = next(
        code for code in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "my_scatter" in code
    )
    plugin = tmp_path / "my_scatter.py"
    plugin.write_text(example)
    small = ["--seq", "512", "--set", "rows=4", "--set", "topk=32"]
    results = str(tmp_path / "results")
    call(
        "check", "mask/my_scatter", "--plugin", str(plugin), "--family", "mask", *small, "--results", results
    )


def test_the_commands_exist():
    helped = call("--help")
    for command in re.findall(r"`seqsweep (\w+)", README + COMMANDS):
        assert f"  {command} " in helped
