"""Counts of torch's operators by stage: how many, their FLOPs, and the bytes that they read and write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from harness.worker.frameworks import torch_sdpa_flops
from harness.worker.stage_recorder import StageRecorder


class Counts(NamedTuple):
    """Operators so far: how many, FLOPs of matrix products and attention kernels, bytes of operands."""

    operators: int
    flops: int
    bytes: int


class OperatorCounts(TorchDispatchMode):
    """Counts every operator that is dispatched but views, which move nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.flop_counter = FlopCounterMode(display=False, custom_mapping=torch_sdpa_flops.FORMULAS)
        self.operators = self.bytes = 0
        self.note: Callable[[str, int], None] = lambda _name, _size: None

    def counts(self) -> Counts:
        return Counts(self.operators, self.flop_counter.get_total_flops(), self.bytes)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if not func.is_view:
            tensors = (t for t in pytree.tree_leaves((args, kwargs, result)) if isinstance(t, torch.Tensor))
            size = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
            self.operators += 1
            self.bytes += size
            self.note(str(func._overloadpacket), size)
            self.flop_counter._count_flops(func._overloadpacket, result, args, kwargs or {})
        return result


def count_stages(call: Callable[[], Any]) -> dict[str, Counts]:
    """The counts of every stage of one call, which runs."""
    mode = OperatorCounts()
    recorder = StageRecorder(mode.counts)
    with mode:
        recorder.run(call)
        recorder.end()
    parts = [recorder.parts(lambda a, b, at=at: b[at] - a[at]) for at in range(len(Counts._fields))]
    return {name: Counts(*(int(part[name]) for part in parts)) for name in parts[0]}


def operator_bytes(call: Callable[[], Any]) -> dict[tuple[str, str], int]:
    """Bytes by operator (`aten::mm`) and stage of one call, which runs."""
    mode, sizes = OperatorCounts(), Counter[tuple[str, str]]()
    recorder = StageRecorder(mode.counts)

    def note(name: str, size: int) -> None:
        sizes[name.replace(".", "::", 1), recorder.current] += size

    mode.note = note
    with mode:
        recorder.run(call)
    return dict(sizes)
