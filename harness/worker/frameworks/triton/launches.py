"""Recorder of a call's kernel launches over fake tensors, which can compile them for an absent GPU.

Triton launches through the method `run` of its decorators' objects (3.4 to 3.9). It is patched while a call
is traced, so nothing is launched.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch.overrides import TorchFunctionMode
from triton.compiler.errors import CompilationError
from triton.runtime.autotuner import Autotuner
from triton.runtime.errors import PTXASError
from triton.runtime.interpreter import InterpretedFunction
from triton.runtime.jit import JITFunction

from harness.core.errors import Unsupported
from harness.core.grouped import grouped
from harness.worker.frameworks.base import Bind

VALUE, NUMBER = re.compile(r"%[\w#.-]+"), re.compile(r"\d+")
OPERATION = re.compile(r"^ *(?:(%[\w.-]+)(?::\d+)? = )?(?:arith|scf|tt)\.(\w+) (.*)$", re.MULTILINE)
RULES: Mapping[Callable[[Sequence[int]], int], str] = {
    sum: "addi subi",
    math.prod: "muli",
    lambda sizes: sizes[0] // max(1, sizes[1]): "divsi",
    lambda sizes: min(sizes[0], max(1, sizes[1]) - 1): "remsi remui",
    min: "minsi minui",
    max: "extsi extui trunci select maxsi maxui splat broadcast expand_dims reshape trans addptr",
}
MAGNITUDES = {operation: rule for rule, operations in RULES.items() for operation in operations.split()}
ATEN = torch.ops.aten


def overflowing_pointers(ttir: str, grid: Sequence[int], arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """The tensor arguments of at least 2³¹ elements with an integer overflow in their address computation.

    The largest magnitude of each integer follows from the grid, the arguments and the constants in the
    kernel's IR (TTIR). Values from memory or from a branch count as 0, so addresses computed from them are
    not checked.
    """
    # (magnitude, pointer argument) by value of the IR.
    known = {f"%{name}": (abs(value), "") for name, value in arguments.items() if isinstance(value, int)}
    known |= {f"%{name}": (0, name) for name, value in arguments.items() if _is_wide(value)}
    found, blocks = dict[str, None](), {"x": 1, "y": 1, "z": 1, **dict(zip("xyz", grid, strict=False))}
    for result, operation, rest in OPERATION.findall(ttir):
        ids = VALUE.findall(rest)
        given = [known.get(each, (0, "")) for each in ids]
        if operation == "for":  # %place = %first to %end step %step iter_args(%inside = %before, …)
            known |= {ids[0]: given[2], result: given[-1], **dict(zip(ids[4::2], given[5::2], strict=True))}
            known |= {f"{result}#{number}": value for number, value in enumerate(given[5::2])}
        elif operation in {"get_program_id", "make_range", "constant"}:  # x, {end = 64 : i32, …}, dense<64>
            size = blocks.get(rest[0]) or int((NUMBER.search(rest) or "0")[0])
            known[result] = size - (operation != "constant"), ""
        elif operation in MAGNITUDES:
            size = MAGNITUDES[operation]([size for size, _ in given])
            # A value that overflows its type becomes too large for any type, as do values computed from it.
            bits = 63 if "i64" in rest.rpartition(" : ")[2] else 31
            known[result] = size if size < 1 << bits else 2**256, max(pointer for _, pointer in given)
            if operation == "addptr" and given[1][0] >= 1 << 63 and given[0][1]:
                found[given[0][1]] = None
    return tuple(found)


def _is_wide(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.untyped_storage().nbytes() >= 2**31 * value.itemsize


@dataclass(frozen=True)
class Launch:
    """A kernel in one configuration with its grid; `compiled` is Triton's object."""

    kernel: str
    source: str  # `file:line`
    grid: tuple[int, ...]
    configuration: str = ""  # the autotuner's
    compiled: Any = None
    overflows: tuple[str, ...] = ()  # pointers whose offsets overflow 32 bits


class Recorder:
    """The launches of a traced call in order, and the error of a kernel that does not compile."""

    def __init__(self) -> None:
        self.launches: list[Launch] = []
        self.refusal: Unsupported | None = None

    def of_timed_call(self, bind: Bind) -> Bind:
        """Wrap `bind` to drop its launches: a backward's untimed forward is not part of the call."""

        def bind_unrecorded(inputs: Mapping[str, Any], cotangent: Any) -> Callable[[], Any]:
            call = bind(inputs, cotangent)
            self.launches.clear()
            return call

        return bind_unrecorded


class FakePointer:
    """A launch's view of a tensor: its dtype, and an address with the alignment of the real one."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.dtype = tensor.dtype
        self.offset = int(tensor.storage_offset()) * tensor.element_size()

    def data_ptr(self) -> int:
        return self.offset


class AbsentDevice:
    """Triton driver for an absent GPU, which has a target but no memory and no clock."""

    def __init__(self, target: Any) -> None:
        self.target = target

    def get_current_target(self) -> Any:
        return self.target

    def get_current_device(self) -> int:
        """A number per target, because kernels cache their compiled code by device."""
        return int(self.target.arch)

    def get_current_stream(self, _: int = 0) -> int:
        return 0

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cuda", 0)

    def get_benchmarker(self) -> Callable[..., Any]:
        raise Unsupported("it times a kernel while it is built or traced; use @triton.autotune")


@contextmanager
def record_launches(*, compiling: bool) -> Generator[Recorder]:
    """Record every launch instead of executing it; with `compiling`, compile it for the driver's target.

    An autotuned kernel is recorded in every configuration, or only in the first without `compiling`.
    """
    recorder = Recorder()
    run = JITFunction.run

    def record(self: Any, *args: Any, grid: Any, warmup: bool, **options: Any) -> None:  # noqa: ARG001
        compiled: Any = None
        if compiling and recorder.refusal is None:
            fake_options = {name: _fake_pointer(value) for name, value in options.items()}
            try:
                compiled = run(self, *map(_fake_pointer, args), grid=grid, warmup=True, **fake_options)
            except (CompilationError, PTXASError) as error:
                recorder.refusal = Unsupported(_why_not_compiled(self.fn, error))
        arguments = _arguments(self.fn, args, options)
        blocks: Any = grid(arguments) if callable(grid) else grid
        overflows = overflowing_pointers(compiled.asm.get("ttir", ""), blocks, arguments) if compiled else ()
        launch = Launch(self.fn.__name__, _source(self.fn), tuple(map(int, blocks)), "", compiled, overflows)
        recorder.launches.append(launch)

    def record_configurations(self: Any, *args: Any, **options: Any) -> None:
        for configuration in configurations(self, args, options)[: None if compiling else 1]:
            begin = len(recorder.launches)
            self.fn.run(*args, **{**options, **configuration.all_kwargs()})
            recorder.launches[begin:] = [
                replace(launch, configuration=_format(configuration)) for launch in recorder.launches[begin:]
            ]

    with (
        patch.object(JITFunction, "run", record),
        patch.object(InterpretedFunction, "run", record),
        patch.object(Autotuner, "run", record_configurations),
    ):
        yield recorder


def interpret_first_configurations() -> None:
    """Run autotuned kernels in their first configuration, because an interpreter's times are meaningless."""

    def run(self: Any, *args: Any, **options: Any) -> Any:
        first = configurations(self, args, options)[0]
        if first.pre_hook is not None:
            first.pre_hook({**self.nargs, **options, **first.all_kwargs()})
        return self.fn.run(*args, **{**options, **first.all_kwargs()})

    Autotuner.run = run


def configurations(autotuner: Any, args: Sequence[Any], options: Mapping[str, Any]) -> list[Any]:
    """The configurations that an autotuner would time for these arguments, after pruning."""
    autotuner.nargs = dict(zip(autotuner.arg_names, args, strict=False))
    return list(autotuner.prune_configs(dict(options)))


def count_launches(launches: Sequence[Launch]) -> list[tuple[Launch, int]]:
    """Count launches of the same program on the same grid."""
    groups = grouped(launches, lambda each: replace(each, compiled=getattr(each.compiled, "hash", None)))
    return [(same[0], len(same)) for same in groups.values()]


def _fake_pointer(value: Any) -> Any:
    return FakePointer(value) if isinstance(value, torch.Tensor) else value


def _arguments(function: Any, args: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by name that a grid function receives, with defaults and options."""
    names = inspect.signature(function).parameters
    given = {name: value for name, value in options.items() if name in names}
    bound = inspect.signature(function).bind_partial(*args, **given)
    bound.apply_defaults()
    return {**options, **bound.arguments}


def _source(function: Any) -> str:
    """The `file:line` of a kernel's `def`, below its decorators."""
    lines, first = inspect.getsourcelines(function)
    begin = next(number for number, line in enumerate(lines) if line.lstrip().startswith("def "))
    return f"{Path(function.__code__.co_filename).name}:{first + begin}"


def _why_not_compiled(function: Any, error: CompilationError | PTXASError) -> str:
    """The compiler's message with the line in the kernel's file."""
    file, _, first = _source(function).rpartition(":")
    if isinstance(error, PTXASError):
        why = re.search(r"line \d+; error *: *(.*)", str(error))
        return f"{function.__name__} does not compile: ptxas: {why[1] if why else error} ({file}:{first})"
    line, inner = int(first) + max(0, getattr(error.node, "lineno", 1) - 1), error
    while isinstance(inner.__cause__, CompilationError):  # raised in a called function
        inner = inner.__cause__
    lines = str(inner.error_message or inner.__cause__ or "").strip().splitlines()
    message = lines[-1] if lines else type(inner).__name__
    called = f", in a called function: {_line_of(inner)}" if inner is not error else ""
    return f"{function.__name__} does not compile: {message} ({file}:{line}{called})"


def _line_of(error: CompilationError) -> str:
    """The source line of an error."""
    lines = (error.src or "").splitlines()[getattr(error.node, "lineno", 1) - 1 :]
    return f"`{lines[0].strip()}`" if lines else "another function"


def _format(configuration: Any) -> str:
    """Format a configuration as `BM=128 BN=64 warps=4 stages=3`."""
    values = {**configuration.kwargs, "warps": configuration.num_warps, "stages": configuration.num_stages}
    return " ".join(f"{name}={value}" for name, value in values.items() if value is not None)


class NoDeviceGuards(TorchFunctionMode):
    """Replaces calls that need the tensor's device by their operators.

    `tensor[...]` and `tensor.contiguous()` set a device guard in C++ before they dispatch, which fails if
    torch was not built for the device. The operators do not set a guard.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        if func is torch.Tensor.__getitem__:
            view, indices = _view(*args)
            return ATEN.index.Tensor(view, indices) if indices else view
        if func is torch.Tensor.__setitem__:
            tensor, index, value = args
            view, indices = _view(tensor, index)
            if indices:
                return ATEN.index_put_.default(view, indices, torch.as_tensor(value, dtype=view.dtype))
            return view.copy_(value) if isinstance(value, torch.Tensor) else view.fill_(value)
        if func is torch.Tensor.contiguous:
            order = {"memory_format": torch.contiguous_format, **given}
            return args[0] if args[0].is_contiguous(**order) else args[0].clone(**order)
        return func(*args, **given)


def _view(tensor: torch.Tensor, index: Any) -> tuple[torch.Tensor, list[Any]]:
    """(view by the index's numbers, slices, None and `...`; index tensors to apply to it)."""
    parts = list(index) if isinstance(index, tuple) else [index]
    taken = sum(part is not None and part is not Ellipsis for part in parts)
    at = next((place for place, part in enumerate(parts) if part is Ellipsis), len(parts))
    parts[at : at + 1] = [slice(None)] * (tensor.dim() - taken)
    axis, indices = 0, []
    for part in parts:
        if isinstance(part, int):
            tensor = tensor.select(axis, part)
            continue
        if part is None:
            tensor = tensor.unsqueeze(axis)
        elif not isinstance(part, slice):
            indices += [None] * (axis - len(indices)) + [torch.as_tensor(part, device=tensor.device)]
        elif part != slice(None):
            tensor = ATEN.slice.Tensor(tensor, axis, part.start, part.stop, part.step or 1)
        axis += 1
    return tensor, indices
