"""Counts of torch's operators by stage: their number, FLOPs, and bytes read and written."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from harness.worker.frameworks.torch import sdpa_flops
from harness.worker.stage_recorder import StageRecorder


def _packets(names: str) -> frozenset[Any]:
    return frozenset(getattr(torch.ops.aten, name) for name in names.split())


PROMOTION = torch.ops.aten.promote_types.default  # dispatched, but computes no tensor
ALLOCATED = _packets("empty empty_like empty_strided new_empty new_empty_strided")
# Their first operand is not read: only its shape matters, or it is overwritten.
OVERWRITTEN = _packets("copy_ fill_ full_like new_full new_ones new_zeros ones_like zero_ zeros_like")
GATHERS = _packets("embedding gather index index_select")


class Counts(NamedTuple):
    """Operators so far: how many, FLOPs of matrix products and attention kernels, bytes read and written."""

    operators: int
    flops: int
    bytes: int


class OperatorCounts(TorchDispatchMode):
    """Counts every dispatched operator except views, which move nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.flop_counter = FlopCounterMode(display=False, custom_mapping=sdpa_flops.FORMULAS)
        self.operators = self.bytes = 0
        self.note: Callable[[str, int], None] = lambda _name, _size: None

    def counts(self) -> Counts:
        return Counts(self.operators, self.flop_counter.get_total_flops(), self.bytes)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if not func.is_view and func is not PROMOTION:
            size = moved_bytes(func, args, kwargs or {}, result)
            self.operators += 1
            self.bytes += size
            self.note(str(func._overloadpacket), size)
            self.flop_counter._count_flops(func._overloadpacket, result, args, kwargs or {})
        return result


def moved_bytes(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> int:
    """The bytes that an operator must read and write: of a gather's source only the gathered elements."""
    packet = func._overloadpacket
    if packet in ALLOCATED:
        return 0
    read = [*args[packet in OVERWRITTEN :], *(value for name, value in kwargs.items() if name != "out")]
    written = _nbytes([result])
    beyond = max(0, _nbytes(args[:1]) - written) if packet in GATHERS else 0
    return _nbytes(read) + written - beyond


def _nbytes(values: Iterable[Any]) -> int:
    """The bytes of tensors and lists of them; elements that a view repeats count once."""
    total = 0
    for value in values:
        if isinstance(value, torch.Tensor):
            total += min(value.numel() * value.element_size(), value.untyped_storage().nbytes())
        elif isinstance(value, (list, tuple)):
            total += _nbytes(value)
    return total


def count_stages(call: Callable[[], Any]) -> dict[str, Counts]:
    """Run one call, and return the counts of its stages."""
    mode = OperatorCounts()
    recorder = StageRecorder(mode.counts)
    with mode:
        recorder.run(call)
        recorder.end()
    return counts_by_stage(recorder)


def counts_by_stage(recorder: StageRecorder[Counts]) -> dict[str, Counts]:
    """The counts of every stage of a recorded call."""
    parts = [recorder.parts(lambda a, b, at=at: b[at] - a[at]) for at in range(len(Counts._fields))]
    return {name: Counts(*(int(part[name]) for part in parts)) for name in parts[0]}


def operator_bytes(call: Callable[[], Any]) -> dict[tuple[str, str], int]:
    """Run one call, and return its bytes by operator (`aten::mm`) and stage."""
    mode, sizes = OperatorCounts(), Counter[tuple[str, str]]()
    recorder = StageRecorder(mode.counts)

    def note(name: str, size: int) -> None:
        sizes[name.replace(".", "::", 1), recorder.current] += size

    mode.note = note
    with mode:
        recorder.run(call)
    return dict(sizes)
