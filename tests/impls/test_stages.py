"""The names of stages in the code of a family, and those that it lists, are the same."""

import ast
from pathlib import Path

import pytest

from harness.catalog import loading

IMPLS = Path(__file__).resolve().parents[2] / "impls"
FAMILIES = ("attention", "mask", "mla", "offsets", "topk")


def names_marked(folder):
    return {
        node.args[0].value
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "stage"
    }


@pytest.mark.parametrize("name", FAMILIES)
def test_every_stage_is_listed_and_marked(name):
    (family,) = loading.families_in(loading.load(f"impls.{name}.family"))
    assert set(family.stages) == names_marked(IMPLS / name)
