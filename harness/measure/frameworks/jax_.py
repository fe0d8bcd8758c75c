"""jax on any backend: every mode is one compiled program, and XLA's figures are read from it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

import jax
import jax.numpy as jnp

from harness.catalog.arrays import Shapes, numpy_dtype
from harness.measure import timers, trees
from harness.measure.frameworks import Patience, Prepared
from harness.spec.errors import Unsupported
from harness.spec.record import Static

NO_COUNT = "the compiler gives none (an opaque custom call, such as TopK, is not counted)"
NO_PEAK = "leaves temp out on this backend"


def preload() -> None:
    """Import what jit and lowering load on their first use; no backend starts."""
    import jaxlib.mlir.dialects.chlo
    import jaxlib.mlir.dialects.func
    import jaxlib.mlir.dialects.stablehlo  # noqa: F401


class Jax:
    device: Any = None

    def start(self, device: str, threads: int, *, wide: bool) -> None:  # noqa: ARG002 - affinity binds XLA
        jax.config.update("jax_enable_x64", wide)
        try:
            self.device = jax.devices("gpu" if device == "cuda" else device)[0]
        except RuntimeError as error:
            extra = {"cuda": "cuda", "tpu": "tpu"}.get(device, "dev")
            raise Unsupported(
                f"jax has no {device} backend here ({str(error).splitlines()[0]}); "
                f"pip install 'seqsweep[{extra}]' on a machine that has one"
            ) from None
        jax.config.update("jax_default_device", self.device)

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
        differentiable, constants, merge = _split(structs)
        output = jax.eval_shape(function, **structs)

        def forward(leaves: list[Any], rest: list[Any]) -> Any:
            return function(**merge(leaves, rest))

        if mode == "bwd":
            return self._pullback(forward, (differentiable, constants), output, names, merge)

        def both(leaves: list[Any], rest: list[Any], cotangent: Any) -> Any:
            result, pullback = jax.vjp(lambda leaves: forward(leaves, rest), leaves)
            gradients = _named(merge, pullback(cotangent)[0], rest)
            return {"result": result, "gradients": gradients}

        compiled, static = self._compile(jax.jit(both), differentiable, constants, output)

        def bind(inputs: Mapping[str, Any], cotangent: Any) -> Callable[[], Any]:
            leaves, rest, _ = _split({name: inputs[name] for name in names})
            seed = _like(output, cotangent)
            return lambda: compiled(leaves, rest, seed)

        return Prepared(bind, static)

    def _pullback(
        self,
        forward: Callable[[list[Any], list[Any]], Any],
        structs: tuple[list[Any], list[Any]],
        output: Any,
        names: tuple[str, ...],
        merge: Callable[[list[Any], list[Any]], Any],
    ) -> Prepared:
        """The pullback alone as one program; another one computes the residuals it takes."""
        form: Any = None
        differentiable, constants = structs

        def residuals(leaves: list[Any], rest: list[Any]) -> list[Any]:
            nonlocal form
            _, pullback = jax.vjp(lambda leaves: forward(leaves, rest), leaves)
            flat, form = jax.tree.flatten(pullback)
            return flat

        prepare = jax.jit(residuals).lower(differentiable, constants).compile()
        flat = jax.eval_shape(residuals, differentiable, constants)

        def pull(flat: list[Any], cotangent: Any) -> Any:
            gradients = jax.tree.unflatten(form, flat)(cotangent)[0]
            return {"gradients": _named(merge, gradients, constants)}

        compiled, static = self._compile(jax.jit(pull), flat, output)

        def bind(inputs: Mapping[str, Any], cotangent: Any) -> Callable[[], Any]:
            leaves, rest, _ = _split({name: inputs[name] for name in names})
            saved, seed = prepare(leaves, rest), _like(output, cotangent)
            return lambda: compiled(saved, seed)

        return Prepared(bind, static)

    def _compile(self, jitted: Any, *arguments: Any, **named: Any) -> tuple[Any, Static]:
        start = time.perf_counter()
        lowered = jitted.lower(*arguments, **named)
        middle = time.perf_counter()
        compiled = lowered.compile()
        end = time.perf_counter()
        static = figures(compiled, self.device.platform, lower_s=middle - start, compile_s=end - middle)
        return compiled, static

    def put(self, tree: Any) -> Any:
        return trees.map_leaves(tree, lambda leaf: jnp.array(leaf, copy=True))

    def refill(self, target: Any, source: Any) -> Any:  # noqa: ARG002 - jax arrays never change
        return self.put(source)

    def get(self, tree: Any) -> Any:
        return jax.device_get(tree)

    def sync(self, result: Any) -> None:
        jax.block_until_ready(result)

    def timer(self) -> tuple[str, str, Callable[[Callable[[], Any], int], float]]:
        return "wall", "rotated", timers.wall(self.sync)

    def high_water(self) -> int | None:
        statistics = self.device.memory_stats() if self.device.platform != "cpu" else None
        return statistics.get("peak_bytes_in_use") if statistics else None


def figures(compiled: Any, platform: str, *, lower_s: float, compile_s: float) -> Static:
    """XLA's memory and cost analysis of a compiled program; a negative figure is unavailable."""
    memory = compiled.memory_analysis()
    cost = compiled.cost_analysis() or {}
    cost = cost[0] if isinstance(cost, list) else cost
    known: dict[str, Any] = {
        name: getattr(memory, f"{name.removesuffix('_bytes')}_size_in_bytes", None)
        for name in ("argument_bytes", "output_bytes", "temp_bytes", "alias_bytes")
    }
    known["peak_bytes"] = None if platform == "cpu" else getattr(memory, "peak_memory_in_bytes", None)
    known["flops"] = cost.get("flops")
    known["bytes_accessed"] = cost.get("bytes accessed")
    unavailable: dict[str, str] = {}
    for name, value in known.items():
        if value is None or value < 0:
            known[name] = None
            counted = name in {"flops", "bytes_accessed"}
            unavailable[name] = NO_COUNT if counted else NO_PEAK if name == "peak_bytes" else "not given"
    program, text = _program(compiled)
    if program is None:
        unavailable["program"] = "this backend gives no optimised module"
    calls = tuple(sorted(set(re.findall(r'custom_call_target="([^"]+)"', text))))
    warnings = []
    if known["flops"] is not None and calls:
        warnings.append(f"FLOPs leave out the custom calls {', '.join(calls)}")
    if known["flops"] is not None and re.search(r"\bwhile\(", text):
        warnings.append("FLOPs and bytes count a loop's body once")
    return Static(
        **known,
        flops_source="compiled" if known["flops"] is not None else None,
        program=program,
        custom_calls=calls,
        lower_s=lower_s,
        compile_s=compile_s,
        unavailable=unavailable,
        warnings=tuple(warnings),
    )


def _program(compiled: Any) -> tuple[str | None, str]:
    """(hash of the optimised module, its text) without names and metadata, so that equal programs
    of two processes have equal hashes.
    """
    from jaxlib import _hlo

    modules = compiled.runtime_executable().hlo_modules()
    if not modules:
        return None, ""
    text = "\n".join(module.to_string(_hlo.HloPrintOptions.fingerprint()) for module in modules)
    return f"sha256:{sha256(text.encode()).hexdigest()}", text


def _structs(shapes: Any) -> Any:
    if isinstance(shapes, Mapping):
        return {name: _structs(branch) for name, branch in shapes.items()}
    return jax.ShapeDtypeStruct(shapes.shape, numpy_dtype(shapes.dtype))


def _split(inputs: Mapping[str, Any]) -> tuple[list[Any], list[Any], Callable[..., Any]]:
    """(floating leaves, other leaves, merge): gradients are taken of the first."""
    flat, form = jax.tree.flatten(dict(inputs))
    floating = [jnp.issubdtype(leaf.dtype, jnp.floating) for leaf in flat]

    def merge(leaves: list[Any], rest: list[Any]) -> Any:
        first, second = iter(leaves), iter(rest)
        return jax.tree.unflatten(form, [next(first if yes else second) for yes in floating])

    leaves = [leaf for leaf, yes in zip(flat, floating, strict=True) if yes]
    rest = [leaf for leaf, yes in zip(flat, floating, strict=True) if not yes]
    return leaves, rest, merge


def _named(merge: Callable[..., Any], gradients: list[Any], rest: list[Any]) -> Any:
    """Gradients under their inputs' names; inputs that have none are left out."""
    return _prune(merge(gradients, [None] * len(rest)))


def _prune(tree: Any) -> Any:
    if not isinstance(tree, Mapping):
        return tree
    kept = {name: _prune(branch) for name, branch in tree.items()}
    return {
        name: branch
        for name, branch in kept.items()
        if branch is not None and not (isinstance(branch, Mapping) and not branch)
    }


def _like(output: Any, cotangent: Any) -> Any:
    return jax.tree.map(lambda struct, leaf: jnp.asarray(leaf, struct.dtype), output, cotangent)


def _partial(compiled: Any, arguments: Mapping[str, Any]) -> Callable[[], Any]:
    return lambda: compiled(**arguments)


FRAMEWORK = Jax()
