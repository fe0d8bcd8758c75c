"""docs/design.md draws the way of one case: its files exist, are few, and lead to each other by imports."""

import re

from tests.test_structure import ROOT, graph

MOST = 14
ROW = re.compile(r"^\| (⇒ )?`([a-z_/]+\.py)` \|", re.MULTILINE)


def drawn():
    """(whether another process begins there, module) of every file on the way, in order."""
    text = (ROOT / "docs/design.md").read_text(encoding="utf-8")
    section = text.partition("## The way of one case")[2].partition("\n## ")[0]
    names = [
        (mark, file.removesuffix(".py").removesuffix("/__init__")) for mark, file in ROW.findall(section)
    ]
    return [(bool(mark), f"harness.{name.replace('/', '.')}") for mark, name in names]


def within_two_steps(edges, module):
    return edges[module] | {below for beside in edges[module] for below in edges[beside]}


def test_each_file_on_the_way_is_reached_from_one_above_it():
    edges, above = graph(ROOT), set()
    assert 0 < len(drawn()) <= MOST
    assert [start for start, _ in drawn()].count(True) == 1
    commands = {module for _, module in drawn() if module.startswith("harness.commands.")}
    for starts, module in drawn():
        reached = {below for earlier in above for below in within_two_steps(edges, earlier)}
        assert module in edges, f"{module} is no file"
        assert starts or module in commands or module in reached, module
        above.add(module)
