"""Operators of one torch call: FLOPs and bytes by stage, and self times by torch's profiler."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import torch
from torch.profiler import ProfilerActivity, profile, record_function
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from harness.core.errors import Unsupported
from harness.core.record import OperatorFigures
from harness.core.stage import SCOPE, recording
from harness.worker.stage_recorder import StageRecorder

KERNELS = (
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_cudnn_attention",
)
PROMOTION = torch.ops.aten.promote_types.default  # is dispatched, but computes no tensor


def pairs(rows: int, columns: int, *, causal: bool) -> int:
    """Number of visible (query, key) pairs; causal attention aligns both at position 0 (top left)."""
    if not causal:
        return rows * columns
    square = min(rows, columns)
    return square * (square + 1) // 2 + (rows - square) * columns


def forward_flops(query: Any, key: Any, value: Any, *, causal: bool) -> int:
    """FLOPs of two products per visible pair: scores, and weights with values. Arguments are shapes."""
    batch, heads, rows, width = query
    return 2 * batch * heads * pairs(rows, key[-2], causal=causal) * (width + value[-1])


def backward_flops(query: Any, key: Any, value: Any, *, causal: bool) -> int:
    """FLOPs of five products per visible pair, because the scores are recomputed."""
    batch, heads, rows, width = query
    # Q·Kᵀ again, dQ and dK are as wide as the keys, dO·Vᵀ and dV
    # as the values (FlashAttention, arXiv 2205.14135).
    return 2 * batch * heads * pairs(rows, key[-2], causal=causal) * (3 * width + 2 * value[-1])


def _formula(kernel: Any, flops: Callable[..., int]) -> Callable[..., int]:
    """Apply `flops` to a kernel's arguments, named by its schema; the counter passes shapes of tensors."""
    schema = [(argument.name, argument.default_value) for argument in kernel.default._schema.arguments]

    def count(*arguments: Any, out_shape: Any = None, **named: Any) -> int:  # noqa: ARG001 - the counter's
        given = dict(schema) | dict(zip((name for name, _ in schema), arguments, strict=False)) | named
        return flops(given["query"], given["key"], given["value"], causal=bool(given["is_causal"]))

    return count


FORMULAS = {
    getattr(torch.ops.aten, name + suffix): _formula(getattr(torch.ops.aten, name + suffix), flops)
    for name in KERNELS
    for suffix, flops in (("", forward_flops), ("_backward", backward_flops))
}


def _packets(names: str) -> frozenset[Any]:
    return frozenset(getattr(torch.ops.aten, name) for name in names.split())


ALLOCATED = _packets("empty empty_like empty_strided new_empty new_empty_strided")
# The first operand is not read: only its shape matters, or it is overwritten.
OVERWRITTEN = _packets("copy_ fill_ full_like new_full new_ones new_zeros ones_like zero_ zeros_like")
GATHERS = _packets("embedding gather index index_select")


class Counts(NamedTuple):
    """Totals so far: operators, FLOPs of matrix products and attention kernels, bytes read and written."""

    operators: int
    flops: int
    bytes: int


class OperatorCounts(TorchDispatchMode):
    """Counts every dispatched operator of a call by stage, except views, which move no bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.flop_counter = FlopCounterMode(display=False, custom_mapping=FORMULAS)
        self.operators = self.bytes = 0
        self.sizes = Counter[tuple[str, str]]()  # bytes by operator (`aten::mm`) and stage
        self.recorder = StageRecorder(self.counts)

    def run(self, call: Callable[[], Any]) -> Self:
        """Run one call and count its operators."""
        with self:
            self.recorder.run(call)
            self.recorder.end()
        return self

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
            self.sizes[str(func._overloadpacket).replace(".", "::", 1), self.recorder.current] += size
            self.flop_counter._count_flops(func._overloadpacket, result, args, kwargs or {})
        return result


def moved_bytes(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> int:
    """Bytes that an operator must read and write; a gather reads only the gathered elements."""
    packet = func._overloadpacket
    if packet in ALLOCATED:
        return 0
    read = [*args[packet in OVERWRITTEN :], *(value for name, value in kwargs.items() if name != "out")]
    written = _nbytes([result])
    beyond = max(0, _nbytes(args[:1]) - written) if packet in GATHERS else 0
    return _nbytes(read) + written - beyond


def _nbytes(values: Iterable[Any]) -> int:
    """Bytes of tensors and lists of tensors; elements that a view repeats count once."""
    total = 0
    for value in values:
        if isinstance(value, torch.Tensor):
            total += min(value.numel() * value.element_size(), value.untyped_storage().nbytes())
        elif isinstance(value, (list, tuple)):
            total += _nbytes(value)
    return total


def count_stages(call: Callable[[], Any]) -> dict[str, Counts]:
    """Run one call, and return the counts of its stages."""
    recorder = OperatorCounts().run(call).recorder
    parts = [recorder.parts(lambda a, b, at=at: b[at] - a[at]) for at in range(len(Counts._fields))]
    return {name: Counts(*(int(part[name]) for part in parts)) for name in parts[0]}


def trace_operators(
    call: Callable[[], Any], sync: Callable[[Any], None], trace: Path | None
) -> list[OperatorFigures]:
    """Self time of each operator in one call; another call counts the bytes."""
    activities = [ProfilerActivity.CPU]
    on_device = torch.cuda.is_initialized()  # not is_available(), which calls cuInit
    if on_device:
        activities.append(ProfilerActivity.CUDA)
    with profile(activities=activities) as profiler, recording(lambda name: record_function(SCOPE + name)):
        sync(call())
    if trace is not None:
        profiler.export_chrome_trace(str(trace))
    microseconds: dict[tuple[str, str], list[float]] = defaultdict(list)
    for event in profiler.events() or ():
        if event.device_type.name == "CPU" and not event.name.startswith(SCOPE):
            own = event.self_device_time_total if on_device else event.self_cpu_time_total
            microseconds[event.name, _stage(event)].append(own)
    sizes = OperatorCounts().run(call).sizes
    return [
        OperatorFigures(name, stage, sum(own) * 1e-6, len(own), sizes.get((name, stage)))
        for (name, stage), own in microseconds.items()
        if sum(own) > 0
    ]


def kernels_of(call: Callable[[], Any], sync: Callable[[Any], None]) -> list[str]:
    """Names of the kernels, copies and fills that one call runs on a GPU, in order."""
    if not torch.cuda.is_initialized():
        raise Unsupported("the call did not run on a GPU")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        sync(call())
    on_device = [
        event
        for event in profiler.events() or ()
        if event.device_type.name == "CUDA" and not event.is_user_annotation
    ]
    if not on_device:
        raise Unsupported("torch's profiler has no GPU events; allow CUPTI access, and stop other profilers")
    return [event.name for event in sorted(on_device, key=lambda event: event.time_range.start)]


def _stage(event: Any) -> str:
    """The path of the stages around an event, for example `selected/mask`."""
    names: list[str] = []
    while (event := event.cpu_parent) is not None:
        if event.name.startswith(SCOPE):
            names.insert(0, event.name.removeprefix(SCOPE))
    return "/".join(names)
