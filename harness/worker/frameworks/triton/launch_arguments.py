"""A kernel's launch as text: its arguments, `x=f32[64Ki], n=65536, BLOCK=1024`, and its grid, `n/BLOCK`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from harness.core.case import split_list
from harness.core.errors import UsageError
from harness.core.units import parse_count

EXAMPLE = "--args 'x=f32[64Ki], n=65536, BLOCK=1024'"
GRID_EXAMPLE = "--grid 64, --grid 'n/BLOCK' or --grid 'M/BM * N/BN, heads'"
WORDS = {"true": True, "false": False, "none": None}


@dataclass(frozen=True)
class TensorArgument:
    """A contiguous tensor: a dtype's name, and its shape."""

    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class DtypeArgument:
    """A dtype as a value, which kernels take as a constant."""

    name: str


Value: TypeAlias = TensorArgument | DtypeArgument | int | float | str | bool | None
Grid: TypeAlias = Callable[[Mapping[str, Any]], tuple[int, ...]]


def parse_arguments(text: str) -> dict[str, Value]:
    """The values by name. UsageError for a malformed one.

    A tensor is `dtype[shape]`, a number with a point is a float, a string stands in quotes, and a word is a
    dtype; `true`, `false` and `none` are what they are in Python.
    """
    values: dict[str, Value] = {}
    for part in split_list(text):
        name, _, value = (word.strip() for word in part.partition("="))
        if not name.isidentifier() or not value:
            raise UsageError(f'--args: "{part}" is no NAME=VALUE; write them as in {EXAMPLE}')
        if name in values:
            raise UsageError(f"--args: {name} is given twice; leave one out")
        try:
            values[name] = _parse_value(value)
        except ValueError as error:
            raise UsageError(f"--args: {name}: {error}") from None
    return values


def _parse_value(text: str) -> Value:
    """A value from text. ValueError for a malformed number."""
    if tensor := re.fullmatch(r"([A-Za-z_]\w*)\s*\[([^\[\]]*)\]", text):
        return TensorArgument(tensor[1], tuple(map(parse_count, split_list(tensor[2]))))
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    if quoted := re.fullmatch(r"(['\"])(.*)\1", text):
        return quoted[2]
    for read in (int, float):
        with suppress(ValueError):
            return read(text)
    return parse_count(text) if text[0].isdigit() else DtypeArgument(text)


def parse_grid(text: str) -> Grid:
    """A grid as Triton takes one: a function of a launch's arguments to its blocks along up to three axes.

    An axis is a product of numbers, argument names and quotients, which are rounded up. UsageError for more
    axes, and by the grid itself for an invalid number of blocks.
    """
    axes = split_list(text)
    if not 1 <= len(axes) <= 3:
        raise UsageError(f'--grid: "{text}" has {len(axes)} axes, and a grid 1 to 3; write {GRID_EXAMPLE}')

    def grid(given: Mapping[str, Any]) -> tuple[int, ...]:
        return tuple(_blocks(axis, given) for axis in axes)

    return grid


def _blocks(axis: str, given: Mapping[str, Any]) -> int:
    counts = [_ceiling(factor, given) for factor in axis.split("*")]
    if (blocks := math.prod(counts)) < 1:
        raise UsageError(f'--grid: "{axis}" is {blocks} blocks; a grid has one at least')
    return blocks


def _ceiling(factor: str, given: Mapping[str, Any]) -> int:
    """A number, or a quotient rounded up."""
    top, *below = (_count(word.strip(), given) for word in factor.split("/"))
    for divisor in below:
        if not divisor:
            raise UsageError(f'--grid: "{factor.strip()}" divides by 0; write {GRID_EXAMPLE}')
        top = -(-top // divisor)
    return top


def _count(word: str, given: Mapping[str, Any]) -> int:
    value = given.get(word)
    if isinstance(value, int):
        return value
    try:
        return parse_count(word)
    except ValueError:
        raise UsageError(
            f'--grid: "{word}" is neither a number nor an argument that is one; write {GRID_EXAMPLE}'
        ) from None
