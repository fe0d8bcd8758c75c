"""Lower a case's mode to one jax program, on arrays that need not exist."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from harness.catalog.arrays import Array, Shapes, numpy_dtype, prune
from harness.core.errors import Unsupported

Place = Callable[[tuple[str, ...]], Any]
"""The sharding of an input by its path through the inputs' names; None leaves it to the backend."""


@dataclass(frozen=True)
class Program:
    """A jitted function, and the arguments that it is lowered with."""

    jitted: Any
    arguments: tuple[Any, ...] = ()
    named: Mapping[str, Any] = field(default_factory=dict)

    def trace(self) -> Any:
        return self.jitted.trace(*self.arguments, **self.named)

    def lower(self) -> Any:
        return self.trace().lower()


def structs(shapes: Shapes | Array, place: Place = lambda _: None, path: tuple[str, ...] = ()) -> Any:
    """The inputs as `jax.ShapeDtypeStruct`s."""
    if isinstance(shapes, Mapping):
        return {name: structs(branch, place, (*path, name)) for name, branch in shapes.items()}
    return jax.ShapeDtypeStruct(shapes.shape, numpy_dtype(shapes.dtype), sharding=place(path))


def forward(function: Callable[..., Any], inputs: Mapping[str, Any], results: Any = None) -> Program:
    """The forward call; `results` is the sharding of its results, None leaves that to the compiler."""
    return Program(jax.jit(function, out_shardings=results), (), inputs)


class Backward:
    """The gradients of a function's floating inputs. Unsupported if its result has no floating part.

    `leaves` are the floating inputs and `rest` the others; `merge` joins such lists again. `outputs` describe
    the floating results, which have one cotangent each. `place` is the sharding of all arrays.
    """

    def __init__(
        self, function: Callable[..., Any], inputs: Mapping[str, Any], place: Any | None = None
    ) -> None:
        self.function, self.place = function, place
        self.leaves, self.rest, self.merge = split(inputs)
        outputs, _ = jax.eval_shape(self.forward, self.leaves, self.rest)
        if not outputs:
            raise Unsupported("a result without floating parts has no backward pass; use mode fwd")
        self.outputs = self._place(outputs)

    def forward(self, leaves: list[Any], rest: list[Any]) -> tuple[list[Any], Any]:
        """(the result's floating parts, the whole result)."""
        result = self.function(**self.merge(leaves, rest))
        return [leaf for leaf in jax.tree.leaves(result) if is_floating(leaf)], result

    def both(self) -> Program:
        """Forward and pullback as one program of the leaves, the rest and the cotangent."""

        def both(leaves: list[Any], rest: list[Any], cotangent: list[Any]) -> Any:
            _, pullback, result = jax.vjp(lambda leaves: self.forward(leaves, rest), leaves, has_aux=True)
            return {"result": result, "gradients": self._name_gradients(pullback(cotangent)[0], rest)}

        return Program(self._jit(both), (self.leaves, self.rest, self.outputs))

    def pullback(self) -> tuple[Program, Program]:
        """(program of the residuals, pullback). The pullback takes residuals and cotangent."""
        form: Any = None

        def residuals(leaves: list[Any], rest: list[Any]) -> list[Any]:
            nonlocal form
            _, pullback, _ = jax.vjp(lambda leaves: self.forward(leaves, rest), leaves, has_aux=True)
            flat, form = jax.tree.flatten(pullback)
            return flat

        flat = self._place(jax.eval_shape(residuals, self.leaves, self.rest))

        def pull(flat: list[Any], cotangent: list[Any]) -> Any:
            return {
                "gradients": self._name_gradients(jax.tree.unflatten(form, flat)(cotangent)[0], self.rest)
            }

        prepare = Program(self._jit(residuals), (self.leaves, self.rest))
        return prepare, Program(self._jit(pull), (flat, self.outputs))

    def _jit(self, function: Callable[..., Any]) -> Any:
        return jax.jit(function, out_shardings=self.place)

    def _place(self, tree: Any) -> Any:
        return jax.tree.map(
            lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=self.place), tree
        )

    def _name_gradients(self, gradients: list[Any], rest: list[Any]) -> Any:
        """Gradients by input name, without the inputs that have none."""
        return prune(self.merge(gradients, [None] * len(rest)))


def is_floating(leaf: Any) -> bool:
    return bool(jnp.issubdtype(jnp.result_type(leaf), jnp.floating))


def split(inputs: Mapping[str, Any]) -> tuple[list[Any], list[Any], Callable[..., Any]]:
    """(floating leaves, other leaves, merge). Gradients are computed for the floating leaves."""
    flat, form = jax.tree.flatten(dict(inputs))
    floating = [is_floating(leaf) for leaf in flat]

    def merge(leaves: list[Any], rest: list[Any]) -> Any:
        first, second = iter(leaves), iter(rest)
        return jax.tree.unflatten(form, [next(first if yes else second) for yes in floating])

    leaves = [leaf for leaf, yes in zip(flat, floating, strict=True) if yes]
    rest = [leaf for leaf, yes in zip(flat, floating, strict=True) if not yes]
    return leaves, rest, merge
