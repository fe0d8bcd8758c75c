"""A family: one question, with one workload type, its inputs, references and checks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from harness.catalog.arrays import Array, Shapes, Sharding
from harness.catalog.contract import Contract, Judgement
from harness.catalog.implementation import OwnSemantics
from harness.catalog.models import Model, ModelWorkload, Phase
from harness.core.declared import Declared, Word
from harness.core.errors import UsageError
from harness.core.plain_data import plain
from harness.core.record import Cost
from harness.core.static_figures import Static


@dataclass(frozen=True)
class Trial:
    """One implementation on one workload, for a check to experiment with.

    `inputs` is the first set of inputs and `result` its result, as numpy arrays. In a backward mode the
    result is `{"gradients": …}`, or gradients and `result`, for the seeded cotangent.
    `call(changed)` returns the result with some of these inputs replaced, of the same shapes and dtypes.
    `solve(workload, inputs)` returns the forward result of the same implementation and options, built for
    another workload. A check does not apply to an implementation that does not support that workload.
    """

    workload: Any
    inputs: Mapping[str, Any]
    result: Any
    call: Callable[[Mapping[str, Any]], Any]
    solve: Callable[[Any, Mapping[str, Any]], Any]
    static: Static
    mode: str
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Check(Declared):
    """A check outside the contract. `objection` is the doubt that it tests, with its source.

    It applies to implementations of `semantics`, or those `named` (empty: all), that take every input in
    `inputs`, on workloads for which `when` is true, in these `modes`. If `decides` is false, it measures a
    property of the semantics, which is reported but cannot fail. `name` is unique in its family.
    """

    name: Word
    objection: str
    judge: Callable[[Trial], Judgement]
    semantics: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    when: Callable[[Any], bool] = lambda _: True
    decides: bool = True
    modes: tuple[str, ...] = ("fwd",)
    named: tuple[str, ...] = ()

    def concerns(
        self, semantics: str, mode: str, names: tuple[str, ...], workload: Any, *, name: str = ""
    ) -> bool:
        concerned = not self.semantics or semantics in self.semantics
        concerned = concerned and (not self.named or name in self.named)
        return concerned and mode in self.modes and set(self.inputs) <= set(names) and self.when(workload)


@dataclass(frozen=True)
class Semantics(Declared):
    """A definition of the correct result, with one reference and one contract.

    `reference(w, rows)` is a builder like an implementation's. It returns a callable that takes inputs by
    name (floating inputs arrive as f64) and returns the result. If `rows` (an integer array) is not None, it
    returns only those rows of axis 1. It is written in numpy, or in torch if gradients are judged
    (`framework`), and must be plain and precise, not fast.
    `gradient` is the contract of every gradient under one seeded cotangent; None if the semantics has no
    backward. `ambiguous(w, rows)` builds a callable that marks results that rounding errors may decide (see
    :class:`Evidence`). `cost(w)` is the least work of this semantics; None if the family's cost applies.
    `refuse(w)` raises :class:`Unsupported` for a workload for which this semantics is not defined. `layout`
    names the axes of every part of the result, for example `[B, T, H, D]`, for messages on wrong shapes.
    """

    name: Word
    reference: Callable[[Any, Any], Callable[..., Any]]
    contract: Contract
    gradient: Contract | None = None
    framework: str = "numpy"
    ambiguous: Callable[[Any, Any], Callable[..., Any]] | None = None
    sentence: str = ""
    cost: Callable[[Any], Cost] | None = None
    refuse: Callable[[Any], None] = field(default=lambda _: None)
    layout: str = ""


@dataclass(frozen=True, eq=False)
class Family(Declared):
    """A question. `shapes(w)` describes the inputs by name without allocating; `inputs(w, rng)` draws them.

    Both agree in names, shapes and dtypes. For an invalid workload `shapes` raises :class:`Unsupported`.
    `rows(w)` is the length of axis 1 of every result, for references that can be evaluated on some rows; None
    if only the whole result can be judged. `tile(w)` is the block size whose edges sampled rows must
    include. `checks` test properties outside the contracts, for `seqsweep check`. `stages` are the names of
    parts that implementations may mark, for `seqsweep profile`.

    `sharding(w)` is the placement of a workload on several devices, as data; None for one device. A sharded
    workload is compiled for a topology of that many devices, and the compiler partitions the implementation.
    All figures, including the analytic cost, are per device. It cannot be run or judged on one device.

    `complete(w, inputs, given)` recomputes the inputs that depend on those named in `given`, which come from
    a file, and raises ValueError for invalid values. None if no input depends on others.

    `of_model(model, phase)` derives the workload of a real model from its publisher's fields, and raises
    :class:`Unsupported` if the model does not use what the family computes. None if no model does.
    """

    name: Word
    question: str
    workload: type
    shapes: Callable[[Any], Shapes]
    inputs: Callable[[Any, Any], Mapping[str, Any]]
    semantics: Mapping[str, Semantics]
    cost: Callable[[Any], Cost] = field(default=lambda _: Cost())
    modes: tuple[str, ...] = ("fwd",)
    rows: Callable[[Any], int] | None = None
    tile: Callable[[Any], int] = field(default=lambda _: 1)
    checks: tuple[Check, ...] = ()
    sharding: Callable[[Any], Sharding | None] = field(default=lambda _: None)
    stages: tuple[str, ...] = ()
    of_model: Callable[[Model, Phase], ModelWorkload] | None = None
    complete: Callable[[Any, dict[str, Any], frozenset[str]], Mapping[str, Any]] | None = None

    @property
    def first_semantics(self) -> str:
        """The default semantics, which an author's semantics without a reference approximate."""
        return next(iter(self.semantics))

    def lacks_dtype(self, meaning: Semantics | OwnSemantics) -> bool:
        """Whether a contract reads the workload's dtype, but the workload has no dtype."""
        by_dtype = any(contract and contract.by_dtype for contract in (meaning.contract, meaning.gradient))
        return by_dtype and "dtype" not in {*dir(self.workload), *(f.name for f in fields(self.workload))}

    def shapes_of(self, semantics: str, workload: Any) -> Shapes:
        """The inputs of a workload. Unsupported if it is invalid, or the semantics is not defined for it."""
        shapes = self.shapes(workload)
        if not _are_shapes(shapes):
            returned = f"{type(shapes).__name__} {shapes!r}"[:100]
            raise UsageError(
                f"shapes(w) of family {self.name} returned {returned}; return {{name: Array(shape, dtype)}}"
            )
        self.semantics[semantics].refuse(workload)
        return shapes

    def cost_of(self, semantics: str, workload: Any) -> Cost:
        """The least work of a workload. UsageError if the formula does not return a Cost."""
        cost: Any = (self.semantics[semantics].cost or self.cost)(workload)  # by an author's formula
        if not isinstance(cost, Cost):
            raise UsageError(f"cost(w) of family {self.name} returned {type(cost).__name__}; return a Cost")
        return Cost(plain(cost.flops), plain(cost.bytes), plain(cost.dense_flops))


def _are_shapes(value: object) -> bool:
    branch: Mapping[Any, Any] = value if isinstance(value, Mapping) else {}
    return branch is value and all(isinstance(each, Array) or _are_shapes(each) for each in branch.values())
