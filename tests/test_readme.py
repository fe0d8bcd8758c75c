"""README and docs/: quoted output is what the commands print, links lead somewhere, examples work."""

import os
import re

import pytest

from harness.catalog import discovery
from harness.catalog.family_questions import derive
from harness.catalog.models import model
from harness.core.units import format_count
from tests.cli.forked import ROOT, call_forked

README, READING, TARGETS, COMMANDS, MODELS = (
    (ROOT / name).read_text()
    for name in ("README.md", "docs/reading.md", "docs/targets.md", "docs/commands.md", "docs/models.md")
)
QUOTED = ("4Ki", "8Ki", "16Ki", "32Ki")


def call(*words, **environment):
    code, out, err = call_forked(ROOT, words, {**os.environ, **environment})
    assert code == 0, err
    return "\n".join(line.rstrip() for line in out.splitlines())


def test_the_table_is_what_show_prints():
    command = re.search(r"`seqsweep (show attention --run \S+)`", READING)
    assert command is not None
    printed = call(*command[1].split(), COLUMNS="118")
    assert printed.split("\n\nwall ")[0] in READING


def excerpt(printed):
    """The lines of `show` that README quotes: the answer, and four lengths up to the speedup."""
    answer, table = re.split(r"\n\n(?=.*\bimplementation\b)", printed, maxsplit=1)
    head, rule, *rows = table.split("\n")
    width = head.index("GFLOP/s")
    groups = "\n".join(rows).split("\n\n")
    shown = [group for group in groups if group.split()[0] in QUOTED]
    cut = [line[:width].rstrip() for group in (f"{head}\n{rule}", *shown) for line in group.split("\n")]
    return "\n".join([answer[answer.index("Fastest") :], "", *cut])


def test_the_answer_in_the_readme_is_what_show_prints():
    """REWRITE_GOLDENS=1 writes the block."""
    command = re.search(r"`seqsweep (show attention --run \S+)`", READING)
    assert command is not None
    expected = excerpt(call(*command[1].split(), COLUMNS="118"))
    block = re.search(r"^```\n(Fastest.*?)\n```$", README, re.MULTILINE | re.DOTALL)
    assert block is not None
    if os.environ.get("REWRITE_GOLDENS"):
        (ROOT / "README.md").write_text(README.replace(block[1], expected), "utf-8")
        pytest.fail("README.md was written; read it")
    assert block[1].splitlines() == expected.splitlines()


def test_the_chart_has_the_crossover_of_the_readme():
    drawn = (ROOT / "docs/charts/attention-speedup.svg").read_text()
    title = re.search(r"`nsa_mslk` is faster than `dense` (from \S+) on\.", README)
    assert title is not None
    assert title[1] in " ".join(re.sub(r"<[^>]+>", " ", drawn).split())


def test_the_readme_is_short():
    assert README.count("\n") <= 120


def test_the_receipt_shown_is_of_the_stored_run():
    run = re.search(r"--run (\S+)`", READING)
    assert run is not None
    printed = call("report", "attention", "--run", run[1], "--pr").replace("\\", "").splitlines()
    quoted = re.findall(r"^> (\S.+)$", COMMANDS, re.MULTILINE)
    assert len(quoted) == 6
    assert [line for line in quoted if line not in printed] == []


def test_the_models_shown_have_these_layers_positions_and_implementations():
    """The table's layers and positions follow from the presets. Its times do not."""
    catalog = discovery.builtin()
    steps = re.findall(
        r"^\| (?:(\S+) (?:over \d+ devices )?at \S+, (\d+)(?: of (\d+))? layers)? ?\| (\w+): (.+?) \|",
        MODELS,
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
    longest = re.findall(r"^\| (\S+) \| all (\S+): ", MODELS, re.MULTILINE)
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


def anchors(text):
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_link_leads_somewhere():
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("[a-z]*.md"))):
        for link, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", page.read_text()):
            if "://" in link:
                continue
            linked = page.parent / link if link else page
            assert linked.exists(), (page, link)
            if anchor and linked.suffix == ".md":
                assert anchor in anchors(linked.read_text()), (page, link, anchor)


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
