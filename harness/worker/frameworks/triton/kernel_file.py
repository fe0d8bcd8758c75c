"""Cross-compilation of a Triton kernel in a file without a registered implementation.

`python -m harness.worker.frameworks.triton.kernel_file REQUEST`; request and reply are JSON.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from ast import literal_eval
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from harness.catalog import child_process, loading
from harness.catalog.accelerators import Target
from harness.catalog.arrays import BYTES, NAMES
from harness.core.case import split_list
from harness.core.errors import Unsupported, UsageError, nearest
from harness.core.units import parse_count
from harness.worker.frameworks.triton.environment import prepare_environment
from harness.worker.frameworks.triton.kernel_compiler import compiled_kernels, gpu_of, use_absent_gpu

if TYPE_CHECKING:
    from harness.worker.frameworks.triton.launches import Recorder

EXAMPLE = "--args 'x=f32[64Ki], n=65536, BLOCK=1024'"
GRID_EXAMPLE = "--grid 64, --grid 'n/BLOCK' or --grid 'M/BM * N/BN, heads'"
WORDS = {"true", "false", "none"}
Grid: TypeAlias = Callable[[Mapping[str, Any]], tuple[int, ...]]
OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")  # launch options besides the kernel's arguments


def read_arguments(text: str) -> dict[str, Any]:
    """Parse the arguments of a launch by name. UsageError for a malformed one.

    A tensor is written `dtype[shape]`, a float with a decimal point, a string in quotes, and a dtype as a
    word. `true`, `false` and `none` are Python's constants.
    """
    values: dict[str, Any] = {}
    for part in split_list(text):
        name, _, value = (word.strip() for word in part.partition("="))
        if not name.isidentifier() or not value:
            raise UsageError(f'--args: "{part}" is not NAME=VALUE; use for example {EXAMPLE}')
        if name in values:
            raise UsageError(f"--args: {name} appears twice; use it only once")
        try:
            values[name] = _read_value(value)
        except ValueError as error:
            raise UsageError(f"--args: {name}: {error}") from None
    return values


def _read_value(text: str) -> Any:
    """Parse a tensor without storage, a Triton dtype, or a Python constant. ValueError for other text."""
    import torch
    import triton.language as tl

    if tensor := re.fullmatch(r"([A-Za-z_]\w*)\s*\[([^\[\]]*)\]", text):
        dtype = getattr(torch, NAMES.get(tensor[1], tensor[1]), None)
        if not isinstance(dtype, torch.dtype):
            raise ValueError(f'unknown dtype "{tensor[1]}"{nearest(tensor[1], BYTES)}')
        return torch.empty(tuple(map(parse_count, split_list(tensor[2]))), dtype=dtype, device="meta")
    with suppress(ValueError, SyntaxError):
        return literal_eval(text.title() if text.lower() in WORDS else text)
    if text[0].isdigit():
        return parse_count(text)
    word = text.removeprefix("tl.")
    dtype = getattr(tl, "int1" if word == "bool" else NAMES.get(word, word), None)
    if isinstance(dtype, tl.dtype):
        return dtype
    raise ValueError(f'"{text}" is not a number or dtype; write a tensor as dtype[shape], a string in quotes')


def parse_grid(text: str) -> Grid:
    """Parse a grid into a function from a launch's arguments to its blocks along up to three axes.

    UsageError for more axes; the function raises it for an invalid number of blocks.
    """
    axes = split_list(text)
    if not 1 <= len(axes) <= 3:
        raise UsageError(f'--grid: "{text}" has {len(axes)} axes, not 1 to 3; use for example {GRID_EXAMPLE}')
    return lambda given: tuple(_blocks(axis, given) for axis in axes)


def _blocks(axis: str, given: Mapping[str, Any]) -> int:
    """Evaluate a product of numbers, argument names and quotients, which are rounded up."""
    blocks = 1
    for factor in axis.split("*"):
        count, *divisors = (_count(word.strip(), given) for word in factor.split("/"))
        for divisor in divisors:
            count = -(-count // divisor) if divisor else 0
        blocks *= count
    if blocks < 1:
        raise UsageError(f'--grid: "{axis}" is {blocks} blocks; a grid needs at least 1')
    return blocks


def _count(word: str, given: Mapping[str, Any]) -> int:
    value = given.get(word)
    try:
        return value if isinstance(value, int) else parse_count(word)
    except ValueError:
        text = f'--grid: "{word}" is not a number or integer argument; use for example {GRID_EXAMPLE}'
        raise UsageError(text) from None


def plan_kernel(request: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Compile a kernel per target: `kernels` has the figures of each configuration, `reason` any error."""
    grid = parse_grid(request["grid"])
    try:
        gpus = {name: gpu_of(name) for name in request["targets"]}
        prepare_environment(interpret=False, cache=Path(request["cache"]))
    except Unsupported as refusal:
        raise UsageError(str(refusal)) from None
    use_absent_gpu(next(iter(gpus.values())))  # before the import, which may query the device
    kernel = _find(_load(Path(request["file"])), request["kernel"])
    arguments = _bind(kernel, request["kernel"], read_arguments(request["args"]))
    compiled = {name: _compile(kernel, arguments, grid, gpu) for name, gpu in gpus.items()}
    return {name: _figures(outcome, gpus[name]) for name, outcome in compiled.items()}


def _load(file: Path) -> ModuleType:
    """The module of a file. UsageError if it cannot be imported."""
    try:
        return loading.load(str(file))
    except BaseException as error:  # an import can raise anything, also SystemExit
        remedy = "; move module-level code that needs a device or a file into a function"
        if isinstance(error, ModuleNotFoundError):
            remedy = "; install that module, or add its folder to PYTHONPATH"
        raise UsageError(f"the file cannot be imported: {child_process.sentence(error)}{remedy}") from None


def _find(module: ModuleType, name: str) -> Any:
    """The kernel of this name in a module. UsageError lists the module's own kernels."""
    from triton.runtime.jit import KernelInterface

    kernels = {word: value for word, value in vars(module).items() if isinstance(value, KernelInterface)}
    if name in kernels:
        return kernels[name]
    own = [word for word, kernel in kernels.items() if _function(kernel).__module__ == module.__name__]
    if not own:
        raise UsageError("the file has no Triton kernel; decorate one with @triton.jit")
    raise UsageError(f"unknown kernel{nearest(name, own)}")


def _function(kernel: Any) -> Any:
    """The Python function below the decorators of a kernel."""
    return _function(kernel.fn) if hasattr(kernel, "fn") else kernel


def _bind(kernel: Any, name: str, given: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """(positional, keyword) arguments of a launch: positional up to the first omitted one.

    Autotuners prune configurations by positional arguments only. UsageError for an unknown or missing
    argument, and for one that the autotuner or heuristics choose.
    """
    parameters = inspect.signature(_function(kernel)).parameters
    order, chosen = list(parameters), _chosen_arguments(kernel)
    for word in given:
        if word not in order and word not in OPTIONS:
            raise UsageError(f"--args: {name} has no argument {word}{nearest(word, [*order, *OPTIONS])}")
        if word in chosen:
            raise UsageError(f"--args: the kernel's decorator chooses {word}; omit it")
    needed = (word for word, parameter in parameters.items() if parameter.default is parameter.empty)
    if missing := [word for word in needed if word not in given and word not in chosen]:
        raise UsageError(f"--args: {name} needs {', '.join(missing)}; use for example {EXAMPLE}")
    gap = next((at for at, word in enumerate(order) if word not in given), len(order))
    return [given.pop(word) for word in order[:gap]], given


def _chosen_arguments(kernel: Any) -> set[str]:
    """Arguments and options that a kernel's autotuner and heuristics choose."""
    chosen = {word for each in getattr(kernel, "configs", ()) for word in each.all_kwargs()}
    chosen |= {*getattr(kernel, "values", ())}  # Heuristics
    return chosen | _chosen_arguments(kernel.fn) if hasattr(kernel, "fn") else chosen


def _compile(
    kernel: Any, arguments: tuple[Sequence[Any], Mapping[str, Any]], grid: Grid, gpu: Target
) -> Recorder | str:
    """The launches of a kernel compiled for a GPU, or the reason why it does not compile."""
    from harness.worker.frameworks.triton.launches import record_launches

    use_absent_gpu(gpu)
    by_place, by_name = arguments
    with record_launches(compiling=True) as recorder:
        try:
            kernel[grid](*by_place, **by_name)
        except UsageError:  # raised by the grid, which Triton calls
            raise
        except Exception as error:  # heuristics, pruning or Triton's passes can raise anything
            return child_process.sentence(error)
    return recorder if recorder.refusal is None else str(recorder.refusal)


def _figures(compiled: Recorder | str, gpu: Target) -> dict[str, Any]:
    if isinstance(compiled, str):
        return {"kernels": [], "reason": compiled}
    return {"kernels": [asdict(figures) for figures in compiled_kernels(compiled, gpu)], "reason": ""}


if __name__ == "__main__":
    child_process.answer(lambda: plan_kernel(json.loads(sys.argv[1])))
