"""Live storages of a traced call: bytes, peak, and the source line that allocates each.

The line is that of the innermost frame outside of torch and the harness. A backward does not have these
frames: its storages get the line of the forward operator with the autograd node's sequence number.
"""

import itertools
import sys
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from sysconfig import get_path
from typing import Any

import torch
from torch._C._autograd import _get_sequence_nr as next_node
from torch.utils import _pytree as pytree

from harness.core.paths import PACKAGE, shown_path
from harness.core.peak_owners import Owner
from harness.worker.frameworks.torch.arrays import ones

# Folders with frames that are not the implementation's; `<` is the prefix of code without a file.
INSIDE = (str(Path(torch.__file__).parent), str(PACKAGE), "<")
LIBRARY = get_path("stdlib")
DTYPES = {torch.bool: "pred", torch.bfloat16: "bf16", torch.float16: "f16", torch.float32: "f32"}


@dataclass
class Storage:
    """A live storage, numbered by creation; `before` the timed part, or `saved` for a backward."""

    number: int
    bytes: int
    operator: str
    shape: str
    source: str
    before: bool = False
    saved: bool = False
    ref: Any = None


class LiveBytes:
    """Live bytes `now` and at the `peak`; with `lines`, also the peak's storages and source lines."""

    def __init__(self, *, lines: bool) -> None:
        self.now = self.peak = 0
        self.is_peak = False  # no storage was freed since the peak
        self.alive: dict[int, Storage] = {}  # by key, which a later storage may reuse
        self.at_peak: list[tuple[int, Storage]] = []
        self.next_number = itertools.count(1)
        self.has_lines = lines
        self.lines: dict[int, str] = {}  # of the forward, by sequence number of the autograd node
        self.in_backward = False

    def begin(self) -> None:
        """Start the timed part and the peak. Live storages other than arguments count as saved."""
        self.peak, self.is_peak = self.now, True
        for storage in self.alive.values():
            storage.before = storage.saved = True

    def enter(self) -> None:
        """Record an operator's line by autograd node before it runs, or mark what a backward finds saved."""
        if not self.has_lines:
            return
        node: Any = torch._C._current_autograd_node()  # None outside of a backward
        if node is not None and not self.in_backward:
            self.in_backward = True
            for storage in self.alive.values():
                storage.saved = True
        if node is None and torch.is_grad_enabled():
            self.lines.setdefault(next_node() - 1, _user_line())

    def add(self, tree: Any, operator: str = "") -> None:
        """Add a tree's storages, which count until they are freed."""
        for key, storage, tensor in storages(tree):
            if key not in self.alive:
                dtype = DTYPES.get(tensor.dtype, str(tensor.dtype).removeprefix("torch."))
                shape = f"{dtype}[{','.join(map(str, tensor.shape))}]"
                line = self._line() if self.has_lines else ""
                new = Storage(next(self.next_number), storage.nbytes(), operator, shape, line)
                self.alive[key] = new
                self.now += new.bytes
                if self.now > self.peak:
                    self.peak, self.is_peak = self.now, True
                new.ref = weakref.ref(storage, partial(self._release, key))

    def _line(self) -> str:
        node: Any = torch._C._current_autograd_node()
        return self.lines.get(node._sequence_nr(), "") if node is not None else _user_line()

    def save_peak(self) -> None:
        """Save the storages alive at the peak, before one is freed."""
        if self.has_lines and self.is_peak:
            self.at_peak = list(self.alive.items())
        self.is_peak = False

    def _release(self, key: int, _: Any) -> None:
        self.save_peak()
        if released := self.alive.pop(key, None):
            self.now -= released.bytes

    def buffers(self, arguments: Mapping[int, str], results: Collection[int]) -> list[Owner]:
        """The buffers alive at the peak; `arguments` are names by storage key."""
        self.save_peak()
        return [
            _owner(each, arguments.get(key), returned=key in results and self.alive.get(key) is each)
            for key, each in self.at_peak
            if each.bytes
        ]


def _owner(storage: Storage, argument: str | None, *, returned: bool) -> Owner:
    if argument is None and storage.before and not storage.source:
        argument = "cotangent"
    if argument is not None:
        return Owner(argument, "argument", storage.bytes, "", storage.shape, "")
    kind = "output" if returned else "saved" if storage.saved else "temp"
    operator = storage.operator
    return Owner(operator, kind, storage.bytes, operator, storage.shape, storage.source)


def argument_names(inputs: Any, path: str = "") -> Iterator[tuple[int, str]]:
    """(storage key, argument name) of every tensor in a call's inputs, for example `weights['wq']`."""
    if isinstance(inputs, torch.Tensor):
        yield inputs.untyped_storage()._cdata, path
    elif isinstance(inputs, Mapping):
        for name, part in inputs.items():
            yield from argument_names(part, f"{path}['{name}']" if path else str(name))
    elif isinstance(inputs, Iterable):
        for place, part in enumerate(inputs):
            yield from argument_names(part, f"{path}[{place}]")


def _user_line() -> str:
    frame = sys._getframe(1)
    while frame is not None and frame.f_code is not ones.__code__:  # the trace's cotangents
        if not _inside(frame.f_code.co_filename):
            return f"{shown_path(frame.f_code.co_filename)}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


@cache
def _inside(file: str) -> bool:
    return file.startswith(INSIDE) or (file.startswith(LIBRARY) and "site-packages" not in file)


def storages(tree: Any) -> Iterator[tuple[int, Any, torch.Tensor]]:
    """(key, storage, tensor) of every tensor of a tree."""
    for tensor in pytree.tree_leaves(tree):
        if isinstance(tensor, torch.Tensor):
            storage = tensor.untyped_storage()
            yield storage._cdata, storage, tensor
