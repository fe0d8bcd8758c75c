"""jax on any backend: every mode is one compiled program, and XLA's figures are read from it."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from harness.catalog.arrays import Shapes, numpy_dtype
from harness.measure import limits, timers, trees
from harness.measure.frameworks import Patience, Prepared, match, xla
from harness.spec.errors import Unsupported
from harness.spec.record import Static

LAZY = ("chlo", "func", "stablehlo")  # what lowering imports on its first use
COMPILED = "/jax/core/compile/backend_compile_duration"


def preload(*, tracing: bool) -> None:  # noqa: ARG001 - lowering is always asked for
    """Import what jit and lowering load on their first use; no backend starts."""
    for dialect in LAZY:
        importlib.import_module(f"jaxlib.mlir.dialects.{dialect}")


class Jax:
    device: Any = None
    compiled: int | None = None  # programs; None before the first start

    def start(self, device: str, threads: int, *, wide: bool) -> None:  # noqa: ARG002 - affinity binds XLA
        jax.config.update("jax_enable_x64", wide)
        if self.compiled is None:
            self.compiled = 0
            jax.monitoring.register_event_duration_secs_listener(self._heard)
        try:
            self.device = jax.devices("gpu" if device == "cuda" else device)[0]
        except RuntimeError as error:
            package = {"cuda": "'jax[cuda13]'", "tpu": "'jax[tpu]'"}.get(device, "jax")
            raise Unsupported(
                f"jax has no {device} backend here ({str(error).splitlines()[0]}); "
                f"pip install {package} on a machine that has one"
            ) from None
        jax.config.update("jax_default_device", self.device)

    def _heard(self, event: str, duration_secs: float, **_: Any) -> None:  # noqa: ARG002
        if event == COMPILED:
            self.compiled = (self.compiled or 0) + 1

    def compilations(self) -> int:
        return self.compiled or 0

    def enter(self, mode: str, *, wide: bool) -> None:  # noqa: ARG002 - a compiled program has its mode
        jax.config.update("jax_enable_x64", wide)

    def prepare(
        self,
        function: Callable[..., Any],
        names: tuple[str, ...],
        shapes: Shapes,
        mode: str,
        patience: Patience,  # noqa: ARG002 - XLA plans without allocating
    ) -> Prepared:
        structs = {name: _structs(shapes[name]) for name in names}
        if mode == "fwd":
            compiled, static = self._compile(jax.jit(function), **structs)
            return Prepared(lambda inputs, _: _partial(compiled, {n: inputs[n] for n in names}), static)
        leaves, rest, merge = _split(structs)

        def forward(leaves: list[Any], rest: list[Any]) -> tuple[list[Any], Any]:
            """(floating parts, the whole result): only the first have cotangents."""
            result = function(**merge(leaves, rest))
            return [leaf for leaf in jax.tree.leaves(result) if _is_floating(leaf)], result

        outputs, _ = jax.eval_shape(forward, leaves, rest)
        if not outputs:
            raise Unsupported("a result without floating parts has no backward; use mode fwd")
        if mode == "bwd":
            return self._pullback(forward, structs, outputs)

        def both(leaves: list[Any], rest: list[Any], cotangent: list[Any]) -> Any:
            _, pullback, result = jax.vjp(lambda leaves: forward(leaves, rest), leaves, has_aux=True)
            return {"result": result, "gradients": _named(merge, pullback(cotangent)[0], rest)}

        compiled, static = self._compile(jax.jit(both), leaves, rest, outputs)

        def bind(inputs: Mapping[str, Any], cotangent: Any) -> Callable[[], Any]:
            leaves, rest, _ = _split({name: inputs[name] for name in names})
            seed = _seed(outputs, cotangent)
            return lambda: compiled(leaves, rest, seed)

        return Prepared(bind, static)

    def _pullback(
        self, forward: Callable[..., Any], structs: Mapping[str, Any], outputs: list[Any]
    ) -> Prepared:
        """The pullback alone as one program; another one computes the residuals it takes."""
        leaves, rest, merge = _split(structs)
        form: Any = None

        def residuals(leaves: list[Any], rest: list[Any]) -> list[Any]:
            nonlocal form
            _, pullback, _ = jax.vjp(lambda leaves: forward(leaves, rest), leaves, has_aux=True)
            flat, form = jax.tree.flatten(pullback)
            return flat

        prepare = jax.jit(residuals).lower(leaves, rest).compile()
        flat = jax.eval_shape(residuals, leaves, rest)

        def pull(flat: list[Any], cotangent: list[Any]) -> Any:
            gradients = jax.tree.unflatten(form, flat)(cotangent)[0]
            return {"gradients": _named(merge, gradients, rest)}

        compiled, static = self._compile(jax.jit(pull), flat, outputs)

        def bind(inputs: Mapping[str, Any], cotangent: Any) -> Callable[[], Any]:
            leaves, rest, _ = _split({name: inputs[name] for name in structs})
            saved, seed = jax.block_until_ready((prepare(leaves, rest), _seed(outputs, cotangent)))
            return lambda: compiled(saved, seed)

        return Prepared(bind, static)

    def _compile(self, jitted: Any, *arguments: Any, **named: Any) -> tuple[Any, Static]:
        start = time.perf_counter()
        lowered = jitted.lower(*arguments, **named)
        middle = time.perf_counter()
        compiled = lowered.compile()
        end = time.perf_counter()
        static = xla.figures(compiled, self.device.platform, lower_s=middle - start, compile_s=end - middle)
        return compiled, static

    def put(self, tree: Any) -> Any:
        return jax.block_until_ready(trees.map_leaves(tree, lambda leaf: jnp.array(leaf, copy=True)))

    def refill(self, target: Any, source: Any) -> Any:  # noqa: ARG002 - jax arrays never change
        return self.put(source)

    def get(self, tree: Any) -> Any:
        trees.expect_arrays(tree, (jax.Array,), "jax arrays")
        return trees.map_leaves(tree, jax.device_get)

    def sync(self, result: Any) -> None:
        jax.block_until_ready(result)

    def timer(self) -> tuple[str, str, Callable[[Callable[[], Any], int], float]]:
        return "wall", "rotated", timers.wall(self.sync)

    def rise(self) -> Callable[[], int | None]:
        if self.device.platform == "cpu":
            return limits.rise()
        before = self.device.memory_stats() or {}

        def peak() -> int | None:
            """None when an earlier peak, which jax cannot forget, was higher."""
            after = self.device.memory_stats() or {}
            highest, in_use = after.get("peak_bytes_in_use"), before.get("bytes_in_use")
            if highest is None or in_use is None or highest <= before.get("peak_bytes_in_use", 0):
                return None
            return highest - in_use

        return peak


def _structs(shapes: Any) -> Any:
    if isinstance(shapes, Mapping):
        return {name: _structs(branch) for name, branch in shapes.items()}
    return jax.ShapeDtypeStruct(shapes.shape, numpy_dtype(shapes.dtype))


def _is_floating(leaf: Any) -> bool:
    return bool(jnp.issubdtype(jnp.result_type(leaf), jnp.floating))


def _split(inputs: Mapping[str, Any]) -> tuple[list[Any], list[Any], Callable[..., Any]]:
    """(floating leaves, other leaves, merge): gradients are taken of the first."""
    flat, form = jax.tree.flatten(dict(inputs))
    floating = [_is_floating(leaf) for leaf in flat]

    def merge(leaves: list[Any], rest: list[Any]) -> Any:
        first, second = iter(leaves), iter(rest)
        return jax.tree.unflatten(form, [next(first if yes else second) for yes in floating])

    leaves = [leaf for leaf, yes in zip(flat, floating, strict=True) if yes]
    rest = [leaf for leaf, yes in zip(flat, floating, strict=True) if not yes]
    return leaves, rest, merge


def _named(merge: Callable[..., Any], gradients: list[Any], rest: list[Any]) -> Any:
    """Gradients under their inputs' names; inputs that have none are left out."""
    return trees.prune(merge(gradients, [None] * len(rest)))


def _seed(outputs: list[Any], cotangent: Any) -> list[Any]:
    match(cotangent, outputs)
    return [jnp.asarray(leaf, output.dtype) for leaf, output in zip(cotangent, outputs, strict=True)]


def _partial(compiled: Any, arguments: Mapping[str, Any]) -> Callable[[], Any]:
    return lambda: compiled(**arguments)


FRAMEWORK = Jax()
