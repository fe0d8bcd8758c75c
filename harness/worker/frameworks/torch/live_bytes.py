"""Live bytes of a trace: the storages alive, each counted once, and their peak."""

import itertools
import weakref
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch.utils import _pytree as pytree

from harness.worker.frameworks.torch.storages import StorageLog


class LiveBytes:
    """Bytes alive `now`, and their `peak`; with a `log`, `peak_at` is the step of the peak."""

    def __init__(self, log: StorageLog | None) -> None:
        self.log = log
        self.now = self.peak = self.peak_at = 0
        self.numbers: dict[int, int] = {}  # storages numbered in order of creation
        self.sizes: dict[int, int] = {}
        self.refs: dict[int, Any] = {}
        self.next_number = itertools.count(1)

    def begin(self) -> None:
        """Begin the timed part: the peak and the log count from here."""
        self.peak = self.now
        if self.log:
            self.log.begin()
            self.peak_at = 0

    def hold(self, tree: Any, operator: str = "") -> None:
        """Count a tree's storages until they are freed."""
        for key, storage, tensor in storages(tree):
            if key not in self.sizes:
                self.sizes[key] = storage.nbytes()
                self.numbers[key] = next(self.next_number)
                self.now += self.sizes[key]
                if self.log:
                    self.log.add_storage(key, tensor, self.sizes[key], operator)
                    self.peak_at = self.log.step if self.now > self.peak else self.peak_at
                self.peak = max(self.peak, self.now)
                self.refs[key] = weakref.ref(storage, partial(self._release, key))

    def _release(self, key: int, _: Any) -> None:
        self.now -= self.sizes.pop(key, 0)
        if self.log:
            self.log.free_storage(key)
        self.numbers.pop(key, None)
        self.refs.pop(key, None)


def storages(tree: Any) -> Iterator[tuple[int, Any, torch.Tensor]]:
    """(key, storage, tensor) of every tensor of a tree."""
    for tensor in pytree.tree_leaves(tree):
        if isinstance(tensor, torch.Tensor):
            storage = tensor.untyped_storage()
            yield storage._cdata, storage, tensor
