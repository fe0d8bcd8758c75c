"""The cheats as data: what each does, what becomes of it, and where it is met."""

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
HONEST = "honest"  # the plugin that holds no cheat


@dataclass(frozen=True)
class Cheat:
    """One cheat. What the fields allow stands at the top of cheats.yaml."""

    name: str
    does: str  # the first sentence of its docstring
    met: str
    outcome: str
    by: str = ""
    takes: str = ""
    before_the_clock: bool = False  # `check` finds it as well
    status: str = "ok"
    says: str = ""
    like: str = "sorts_whole_rows"
    spares: str = ""


@dataclass(frozen=True)
class Source:
    """Where cheats are described: `title` at `address`."""

    title: str
    address: str


def builders(plugin: Path) -> Mapping[str, str]:
    """Name → first sentence of the docstring of every implementation in a plugin, which is not imported."""
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
    """All cheats, in the order of the data. KeyError for one that no plugin has."""
    written: dict[str, str] = {}
    for plugin in sorted(PLUGINS.glob("*.py")):
        written |= builders(plugin)
    return tuple(Cheat(name, written[name], **entry) for name, entry in data()["cheats"].items())


def suites() -> Mapping[str, list[str]]:
    """Suite → names of its implementations, for the suites that the drill runs."""
    bench = yaml.safe_load(BENCH.read_text(encoding="utf-8"))
    return {name: bench["suites"][name]["impls"] for name in bench["default"]}
