"""Static figures of an eager torch call from a trace over fake tensors, without allocation or computation.

FLOPs count matrix products and attention kernels (`matmul_only`; causal attention kernels count visible pairs
only). Bytes count live storages: arguments are live before the timed part, temporaries are the peak above
them. The program's hash covers operators with dtypes, shapes and storages.

For a callable of torch.compile the original function is traced. It has the same operators, and therefore the
same FLOPs, arguments and results. Temporaries depend on the compiler's fusions, and are unavailable.
"""

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from hashlib import sha256
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from harness.core.peak_owners import Owners
from harness.core.static_figures import Static
from harness.core.units import format_bytes
from harness.worker.frameworks.base import Bind, TraceLimits
from harness.worker.frameworks.torch.operators import FORMULAS
from harness.worker.frameworks.torch.storages import LiveBytes, Storage, argument_names, storages

DEVICE = torch.ops.prim.device.default
COMPOSITE = torch._C.DispatchKey.CompositeImplicitAutograd
PLAIN = (int, float, complex, bool, str, torch.dtype, torch.device, torch.layout, torch.memory_format)
EAGER = "eager torch has no compiler that reports it"
FUSED = "torch.compile does not report its temporaries"
SCRATCH = "temporaries exclude what torch's operators allocate internally"


class TraceAbandoned(BaseException):
    """The trace exceeded a limit. A BaseException, so that traced code does not catch it."""


class CpuFakeTensorMode(FakeTensorMode):
    """Fake tensor mode for the cpu, which does not query other devices.

    The original mode of a CUDA build calls `torch.cuda.is_available()` and `_ensureCUDADeviceGuardSet()`,
    which call `cuInit` (torch 2.11 to 2.14). Processes forked after that cannot use CUDA, and the fork server
    traces.
    """

    @property
    def avoid_device_init(self) -> bool:
        return False  # no tensor is placed on another device


class TraceTotals(TorchDispatchMode):
    """Live bytes, FLOPs and the program of a trace; the only dispatch mode above that of fake tensors."""

    def __init__(self, limits: TraceLimits, *, owners: bool) -> None:
        super().__init__()
        self.flop_counter = FlopCounterMode(display=False, custom_mapping=FORMULAS)
        self.memory = LiveBytes(lines=owners)
        self.digest = sha256()
        self.timed = False
        self.limits = limits
        self.deadline = time.process_time() + limits.seconds

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """False, because a trace compiles nothing, and skipping dynamo doubles its time."""
        return False

    def begin(self) -> int:
        """Start the timed part, from which peak, program and FLOPs count. Returns the live bytes."""
        self.memory.begin()
        self.digest = sha256()
        self.timed = True
        return self.memory.now

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func is DEVICE and type(args[0]) is FakeTensor:
            return args[0].device  # the most frequent operator by far
        kwargs = {name: value for name, value in (kwargs or {}).items() if value is not None}
        self._check_limits()
        if self.timed and func not in self.flop_counter.flop_registry and _composite(func):
            # A mode is disabled in its own handler. Entering it again traces the decomposition's operators.
            with self:
                return func.decompose(*args, **kwargs)
        formatted = format_arguments((args, kwargs), self.memory.alive)
        self.memory.enter()
        result = func(*args, **kwargs)
        if func is not DEVICE:
            self.digest.update(f"{func} {formatted}\n".encode())
            self.memory.add(result, func._overloadpacket.__name__)
            if self.timed:
                self.flop_counter._count_flops(func._overloadpacket, result, args, kwargs)
        return result

    def _check_limits(self) -> None:
        if time.process_time() > self.deadline:
            raise TraceAbandoned(
                f"tracing took more than {self.limits.seconds:.2g} s of CPU time; "
                "loop over fewer, larger tiles"
            )
        if self.memory.now > self.limits.live_bytes:
            raise TraceAbandoned(f"tracing stopped with {format_bytes(self.memory.now)} of live tensors")


@cache
def _composite(func: Any) -> bool:
    """Whether an operator decomposes into others, which are counted instead."""
    return isinstance(func, torch._ops.OpOverload) and func.has_kernel_for_dispatch_key(COMPOSITE)


def format_arguments(value: Any, alive: Mapping[int, Storage]) -> Any:
    """Format a tree of arguments as strings for the program's hash.

    A tensor is identified by its storage's number, so the hash includes the data flow between operators.
    """
    if isinstance(value, torch.Tensor):
        storage = alive.get(value.untyped_storage()._cdata)
        number = storage.number if storage else 0
        return f"{value.dtype}{tuple(value.shape)}{value.stride()} in {number}+{value.storage_offset()}"
    kind = type(value)
    if kind is list or kind is tuple:
        return kind([format_arguments(part, alive) for part in value])
    if kind is dict:
        return {name: format_arguments(part, alive) for name, part in value.items()}
    return repr(value) if value is None or isinstance(value, PLAIN) else str(kind)


@contextmanager
def run_uncompiled() -> Generator[list[Any]]:
    """Run the original functions of torch.compile's callables; the list gets an entry for each call.

    Otherwise dynamo would trace the dispatch mode itself, half a minute for three operators.
    """
    from torch._dynamo import eval_frame

    called: list[Any] = []
    by_stance = eval_frame._callback_from_stance  # torch.compile calls it before each call (torch 2.13)

    def record(callback: Any) -> Any:
        if callback:
            called.append(callback)
        return by_stance(callback)

    eval_frame._callback_from_stance = record
    try:
        with torch.compiler.set_stance("force_eager"):
            yield called
    finally:
        eval_frame._callback_from_stance = by_stance


def figures(
    bind: Bind,
    fake_inputs: Callable[[], Mapping[str, Any]],
    limits: TraceLimits,
    *,
    owners: bool = False,
    cpu: bool = False,
) -> Static:
    """Trace the call that `bind` returns; with `owners`, the figures include the peak's buffer breakdown.

    With `cpu`, no tensor is placed on another device. An untraceable call has only the reason.
    """
    mode = (CpuFakeTensorMode if cpu else FakeTensorMode)(allow_non_fake_inputs=True)
    totals = TraceTotals(limits, owners=owners)
    start = time.perf_counter()
    try:
        with run_uncompiled() as compiled, mode:
            inputs = fake_inputs()
            with totals:
                totals.memory.add(inputs)
                call = bind(inputs, None)
                before = totals.begin()
                result = call()
    except TraceAbandoned as stop:
        return Static.none(str(stop))
    except Exception as error:
        return untraceable(error)
    input_keys = {key for key, _, _ in storages(inputs)}
    returned = {key: storage.nbytes() for key, storage, _ in storages(result)}
    # Results in an argument's storage are part of `before`. Other results are live at the end, but they are
    # not temporaries.
    alias = sum(size for key, size in returned.items() if key in input_keys)
    output = sum(returned.values())
    unavailable = {"bytes_accessed": EAGER}
    if compiled:
        unavailable |= {"temp_bytes": FUSED, "peak_bytes": FUSED}
    flops = totals.flop_counter.get_total_flops()
    if not flops:
        unavailable["flops"] = "no matrix product or attention kernel to count"
    static = Static(
        argument_bytes=before,
        output_bytes=output,
        temp_bytes=None if compiled else max(0, totals.memory.peak - before - (output - alias)),
        alias_bytes=alias,
        peak_bytes=None if compiled else totals.memory.peak,
        flops=flops or None,
        flops_source="matmul_only" if flops else None,
        program=f"sha256:{totals.digest.hexdigest()}",
        lower_s=time.perf_counter() - start,
        unavailable=unavailable,
        warnings=() if compiled else (SCRATCH,),
    )
    if not owners or static.planned_bytes is None:
        return static
    buffers = totals.memory.buffers(dict(argument_names(inputs)), returned)
    peak = sum(owner.bytes for owner in buffers)
    return replace(static, owners=Owners.of(buffers, peak, static.planned_bytes))


def untraceable(error: BaseException) -> Static:
    """Static figures without values, because of an error over fake tensors."""
    first_line = str(error).strip().partition("\n")[0][:200]
    what = ": ".join(filter(None, [type(error).__name__, first_line]))
    return Static.none(f"cannot be traced over fake tensors: {what}")


def warm_up() -> None:
    """Run one small trace on the cpu, so that its imports happen before any fork."""

    def bind(inputs: Mapping[str, Any], _: Any) -> Callable[[], Any]:
        return lambda: torch.softmax(inputs["x"] @ inputs["x"], -1)

    figures(bind, lambda: {"x": torch.empty(2, 2)}, TraceLimits(60.0, 1 << 30), cpu=True)
