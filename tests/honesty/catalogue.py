"""Catalogue of cheats: description, expected outcome and references of each."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
BENCH, DATA, PLUGINS = HERE / "bench.yaml", HERE / "cheats.yaml", HERE / "cheats"
HONEST = "honest"  # the plugin without cheats


@dataclass(frozen=True)
class Cheat:
    """One cheat; cheats.yaml describes the fields."""

    name: str
    description: str  # the first sentence of its docstring
    known_from: str
    outcome: str
    by: str = ""
    would_catch: str = ""
    found_by_check: bool = False
    status: str = "ok"
    says: str = ""
    compared_with: str = "sorts_whole_rows"
    neighbour_ok: bool = False


@dataclass(frozen=True)
class Source:
    """A description of cheats: `title` and `address`."""

    title: str
    address: str


def builders(plugin: Path) -> Mapping[str, str]:
    """First docstring sentence of every implementation in a plugin by name, without importing it."""
    functions = [
        node
        for node in ast.parse(plugin.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.decorator_list
    ]
    return {node.name: " ".join((ast.get_docstring(node) or "").split()) for node in functions}


@cache
def data() -> Mapping[str, Any]:
    return yaml.safe_load(DATA.read_text(encoding="utf-8"))


def sources() -> Mapping[str, Source]:
    return {key: Source(*entry) for key, entry in data()["sources"].items()}


@cache
def cheats() -> tuple[Cheat, ...]:
    """All cheats, in the order of the data. KeyError if no plugin has one."""
    written: dict[str, str] = {}
    for plugin in sorted(PLUGINS.glob("*.py")):
        written |= builders(plugin)
    return tuple(Cheat(name, written[name], **entry) for name, entry in data()["cheats"].items())


def suites() -> Mapping[str, list[str]]:
    """Names of the implementations by suite, for the suites that the drill runs."""
    bench = yaml.safe_load(BENCH.read_text(encoding="utf-8"))
    return {name: bench["suites"][name]["impls"] for name in bench["default"]}
