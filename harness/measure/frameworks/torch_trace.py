"""Figures of an eager torch call, from one trace over fake tensors: nothing is allocated or computed.

FLOPs are those of matrix products and attention kernels (`matmul_only`; causal attention kernels
count visible pairs only). Bytes are live storages: arguments before the timed part, the peak above
them as temporaries. A program's hash is that of its operators with dtypes, shapes and storages.
"""

from __future__ import annotations

import itertools
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from harness.measure.frameworks import Patience, sdpa
from harness.spec.record import Static
from harness.spec.units import format_bytes

EAGER = "eager torch has no compiler that counts it"


class Stopped(BaseException):
    """The trace is abandoned; a BaseException, so that the traced code does not swallow it."""


class Ledger(TorchDispatchMode):
    """Live bytes over a trace, and the operators it ran."""

    def __init__(self, patience: Patience) -> None:
        super().__init__()
        self.live: dict[int, int] = {}
        self.numbers: dict[int, int] = {}
        self.next_number = itertools.count(1)
        self.now = self.peak = 0
        self.digest = sha256()
        self.patience = patience
        self.deadline = time.monotonic() + patience.seconds

    def begin(self) -> int:
        """The timed part begins: the peak and the program count from here. Bytes live now."""
        self.peak = self.now
        self.digest = sha256()
        return self.now

    def hold(self, tree: Any) -> None:
        for key, storage in storages(tree):
            if key not in self.live:
                self.live[key] = storage.nbytes()
                self.numbers[key] = next(self.next_number)
                self.now += self.live[key]
                self.peak = max(self.peak, self.now)
                weakref.finalize(storage, self._release, key)

    def _release(self, key: int) -> None:
        self.now -= self.live.pop(key, 0)
        self.numbers.pop(key, None)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if time.monotonic() > self.deadline:
            raise Stopped(
                f"tracing it took more than {self.patience.seconds:.2g} s; loop over fewer, larger tiles"
            )
        if self.now > self.patience.live_bytes:
            raise Stopped(f"tracing it stopped with {format_bytes(self.now)} live")
        spelled = pytree.tree_map(self._spell, (args, kwargs or {}))
        result = func(*args, **(kwargs or {}))
        if func is not torch.ops.prim.device.default:
            self.digest.update(f"{func} {spelled}\n".encode())
            self.hold(result)
        return result

    def _spell(self, value: Any) -> str:
        """A tensor by the storage it lies in, so that which result goes where is part of a program."""
        if isinstance(value, torch.Tensor):
            number = self.numbers.get(value.untyped_storage()._cdata, 0)
            return f"{value.dtype}{tuple(value.shape)}{value.stride()} in {number}+{value.storage_offset()}"
        plain = (int, float, complex, bool, str, torch.dtype, torch.device, torch.layout, torch.memory_format)
        return repr(value) if value is None or isinstance(value, plain) else str(type(value))


def storages(tree: Any) -> Iterator[tuple[int, Any]]:
    """(key, storage) of every tensor of a tree."""
    for tensor in pytree.tree_leaves(tree):
        if isinstance(tensor, torch.Tensor):
            storage = tensor.untyped_storage()
            yield storage._cdata, storage


def figures(
    bind: Callable[[Mapping[str, Any], Any], Callable[[], Any]],
    fake_inputs: Callable[[], Mapping[str, Any]],
    patience: Patience,
) -> Static:
    """Trace what `bind` returns. An untraceable call has no figures, with the reason."""
    ledger = Ledger(patience)
    counter = FlopCounterMode(display=False, custom_mapping=sdpa.FORMULAS)
    start = time.perf_counter()
    try:
        with FakeTensorMode(allow_non_fake_inputs=True):
            inputs = fake_inputs()
            with ledger:
                ledger.hold(inputs)
                call = bind(inputs, None)
                before = ledger.begin()
                with counter:
                    result = call()
    except Stopped as stop:
        return Static.none(str(stop))
    except Exception as error:
        lines = str(error).strip().splitlines()
        what = f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__
        return Static.none(f"fake tensors cannot trace it: {what}")
    given = {key for key, _ in storages(inputs)}
    returned = {key: storage.nbytes() for key, storage in storages(result)}
    alias = sum(size for key, size in returned.items() if key in given)
    output = sum(returned.values())
    unavailable = {"bytes_accessed": EAGER}
    flops = counter.get_total_flops()
    if not flops:
        unavailable["flops"] = "no matrix product or attention kernel to count"
    return Static(
        argument_bytes=before,
        output_bytes=output,
        temp_bytes=max(0, ledger.peak - before - (output - alias)),
        alias_bytes=alias,
        peak_bytes=ledger.peak,
        flops=flops or None,
        flops_source="matmul_only" if flops else None,
        program=f"sha256:{ledger.digest.hexdigest()}",
        lower_s=time.perf_counter() - start,
        unavailable=unavailable,
    )


def warm() -> None:
    """Run one small trace, so that what it imports is imported before any fork."""

    def bind(inputs: Mapping[str, Any], _: Any) -> Callable[[], Any]:
        return lambda: torch.softmax(inputs["x"] @ inputs["x"], -1)

    figures(bind, lambda: {"x": torch.empty(2, 2)}, Patience(60.0, 1 << 30))
