"""Figures of an eager torch call, from one trace over fake tensors: nothing is allocated or computed.

FLOPs are those of matrix products and attention kernels (`matmul_only`; causal attention kernels
count visible pairs only). Bytes are live storages: arguments before the timed part, the peak above
them as temporaries. A program's hash is that of its operators with shapes and dtypes.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from harness.measure.frameworks import Patience
from harness.spec.record import STATIC_FIGURES, Static
from harness.spec.units import format_bytes

EAGER = "eager torch has no compiler that counts it"


class Stopped(BaseException):
    """The trace is abandoned; a BaseException, so that the traced code does not swallow it."""


class Ledger(TorchDispatchMode):
    """Live bytes over a trace, and the operators it ran."""

    def __init__(self, patience: Patience) -> None:
        super().__init__()
        self.live: dict[int, int] = {}
        self.now = self.peak = 0
        self.digest = sha256()
        self.patience = patience
        self.deadline = time.monotonic() + patience.seconds

    def hold(self, tree: Any) -> None:
        for tensor in pytree.tree_leaves(tree):
            if not isinstance(tensor, torch.Tensor):
                continue
            storage = tensor.untyped_storage()
            key = storage._cdata
            if key not in self.live:
                self.live[key] = storage.nbytes()
                self.now += self.live[key]
                self.peak = max(self.peak, self.now)
                weakref.finalize(storage, self._release, key)

    def _release(self, key: int) -> None:
        self.now -= self.live.pop(key, 0)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if time.monotonic() > self.deadline:
            raise Stopped(
                f"tracing it took more than {self.patience.seconds:.2g} s; loop over fewer, larger tiles"
            )
        if self.now > self.patience.live_bytes:
            raise Stopped(f"tracing it stopped with {format_bytes(self.now)} live")
        result = func(*args, **(kwargs or {}))
        if func is not torch.ops.prim.device.default:
            self.digest.update(f"{func} {pytree.tree_map(_spell, (args, kwargs or {}))}\n".encode())
            self.hold(result)
        return result


def _spell(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{value.dtype}{tuple(value.shape)}"
    return repr(value) if isinstance(value, (int, float, bool, str, type(None))) else str(type(value))


def _pairs(rows: int, columns: int, *, causal: bool) -> int:
    """Pairs of a query and a key it sees; causal attention aligns both at position 0."""
    if not causal:
        return rows * columns
    square = min(rows, columns)
    return square * (square + 1) // 2 + (rows - square) * columns


def _forward(query: Any, key: Any, value: Any, _: float = 0.0, is_causal: bool = False, **__: Any) -> int:
    """Two products per visible pair. Arguments are the operator's, tensors as shapes."""
    batch, heads, rows, width = query
    pairs = _pairs(rows, key[-2], causal=is_causal)
    return 2 * batch * heads * pairs * (width + value[-1])


def _backward(_: Any, query: Any, key: Any, value: Any, *rest: Any, **__: Any) -> int:
    """Five products per visible pair: the scores are computed again."""
    _, _, _, is_causal, *_ = rest
    batch, heads, rows, width = query
    pairs = _pairs(rows, key[-2], causal=is_causal)
    return 2 * batch * heads * pairs * (3 * width + 2 * value[-1])


def _mapping() -> dict[Any, Any]:
    """Formulas for the cpu's attention kernels, which torch's counter does not know."""
    aten = torch.ops.aten
    return {
        aten._scaled_dot_product_flash_attention_for_cpu: _forward,
        aten._scaled_dot_product_flash_attention_for_cpu_backward: _backward,
    }


def figures(
    bind: Callable[[Mapping[str, Any], Any], Callable[[], Any]],
    fake_inputs: Callable[[], Mapping[str, Any]],
    patience: Patience,
) -> Static:
    """Trace what `bind` returns. An untraceable call has no figures, with the reason."""
    ledger = Ledger(patience)
    counter = FlopCounterMode(display=False, custom_mapping=_mapping())
    start = time.perf_counter()
    try:
        with FakeTensorMode(allow_non_fake_inputs=True):
            inputs = fake_inputs()
            with ledger:
                ledger.hold(inputs)
                call = bind(inputs, None)
                before = ledger.now
                ledger.peak = before
                ledger.digest = sha256()
                with counter:
                    result = call()
                outputs = _new_bytes(result, inputs)
    except MemoryError:
        raise
    except (Stopped, Exception) as error:
        reason = (
            str(error) if isinstance(error, Stopped) else f"fake tensors cannot trace it: {_first(error)}"
        )
        return Static.none(reason)
    flops = counter.get_total_flops()
    known = {
        "argument_bytes": before,
        "output_bytes": outputs,
        "temp_bytes": max(0, ledger.peak - before - outputs),
        "alias_bytes": 0,
        "peak_bytes": ledger.peak,
    }
    unavailable = dict.fromkeys(set(STATIC_FIGURES) - set(known) - {"flops"}, EAGER)
    if not flops:
        unavailable["flops"] = "no matrix product or attention kernel to count"
    return Static(
        **known,
        flops=flops or None,
        flops_source="matmul_only" if flops else None,
        program=f"sha256:{ledger.digest.hexdigest()}",
        lower_s=time.perf_counter() - start,
        unavailable=unavailable,
    )


def _new_bytes(result: Any, inputs: Any) -> int:
    """Bytes of the result's storages that are not an input's own."""
    mine = {t.untyped_storage()._cdata for t in pytree.tree_leaves(inputs) if isinstance(t, torch.Tensor)}
    storages = {
        t.untyped_storage()._cdata: t.untyped_storage().nbytes()
        for t in pytree.tree_leaves(result)
        if isinstance(t, torch.Tensor)
    }
    return sum(size for key, size in storages.items() if key not in mine)


def _first(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__


def warm() -> None:
    """Run one small trace, so that what it imports is imported before any fork."""

    def bind(inputs: Mapping[str, Any], _: Any) -> Callable[[], Any]:
        return lambda: torch.softmax(inputs["x"] @ inputs["x"], -1)

    figures(bind, lambda: {"x": torch.empty(2, 2)}, Patience(60.0, 1 << 30))
