"""The tiles of the Triton kernels: a table by kernel, dtype, width of a head, length and GPU.

Each line of the table says how its tile was chosen: `plan` has figures of the compiled kernel, `measured` has
times on a GPU. `make gpu-tune` writes both (docs/machines/README.md).
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import triton
from triton.runtime import driver

from harness import Unsupported

from ._triton_sparse.plan import power_of_two
from .workload import AttentionWorkload

FILE = Path(__file__).with_suffix(".toml")
TABLE: Mapping[str, Mapping[str, list[dict[str, Any]]]] = tomllib.loads(FILE.read_text())
INTERPRETED = 90  # an H100, for which most tiles were chosen
CONSUMER, CONSUMER_FROM = 89, 120  # sm_120 has the shared memory of sm_89, and neither wgmma nor tcgen05
HALF = {"bf16": "half", "f16": "half"}

T = TypeVar("T")


class Tile(NamedTuple):
    """`rows` × `keys` scores at a time, in a launch with this many warps and stages."""

    rows: int
    keys: int
    warps: int
    stages: int

    @property
    def options(self) -> dict[str, Any]:
        """The tile as a kernel's arguments."""
        return {"BM": self.rows, "BN": self.keys, "num_warps": self.warps, "num_stages": self.stages}

    def holding(self, heads: int) -> Tile:
        """The tile with at least one row for each of these heads, and a warp for every 16 rows."""
        rows = max(self.rows, power_of_two(heads))
        return self._replace(rows=rows, warps=max(self.warps, min(rows // 16, 16)))


_forced: dict[str, Tile] = {}  # no context variable: autograd's threads do not inherit it


def tiles_of(kind: type[T], room: str, w: AttentionWorkload) -> T:
    """The tiles of a room's kernels. `kind` has a field per kernel."""
    gpu, make, names = capability(), cast("Any", kind), cast("Any", kind)._fields
    lines = {name: line_of(room, name, w, gpu) for name in names}
    return make(*(_forced.get(f"{room}.{name}") or Tile(*line["tile"]) for name, line in lines.items()))


def line_of(room: str, name: str, w: AttentionWorkload, gpu: int) -> dict[str, Any]:
    """The table's line for a kernel: the newest GPU, then the least width, then the greatest length.

    A line of a minor revision holds only for the same major one: sm_86's for sm_89, but not for sm_90.
    """
    lines = [
        line
        for line in TABLE[room][name]
        if line["dtype"] == HALF.get(w.dtype, w.dtype)
        and line["capability"] <= gpu
        and (line["capability"] % 10 == 0 or line["capability"] // 10 == gpu // 10)
        and line.get("width", math.inf) >= w.head_dim
        and line.get("seq", 0) <= w.seq
    ]
    if not lines:
        raise Unsupported(f"compute capability {gpu / 10:.1f}: the kernels need 8.0 or more; use dense_sdpa")
    return max(lines, key=lambda line: (line["capability"], -line.get("width", math.inf), line.get("seq", 0)))


def capability() -> int:
    """The compute capability for which Triton compiles; in the interpreter that of an H100."""
    if triton.knobs.runtime.interpret:
        return INTERPRETED
    return generation(driver.active.get_current_target().arch)


def generation(architecture: int) -> int:
    """The compute capability of the lines for a GPU."""
    return CONSUMER if architecture >= CONSUMER_FROM else architecture


@contextmanager
def forced(kernel: str, tile: Tile) -> Generator[None]:
    """Use this tile for a kernel, for example `sparse.attend`, in all threads of the process."""
    before = dict(_forced)
    _forced[kernel] = tile
    try:
        yield
    finally:
        _forced.clear()
        _forced.update(before)
