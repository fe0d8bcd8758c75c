"""Checks: named properties beyond a contract, each of which answers an objection, with its source."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.catalog.contract import Judgement
from harness.core.declared import Declared, Word
from harness.core.static_figures import Static


@dataclass(frozen=True)
class Trial:
    """One implementation on one workload, for a check to experiment with.

    `inputs` is the first set of inputs and `result` the answer to it, as numpy arrays; in a backward mode
    the answer is `{"gradients": …}`, or those with the `result`, under the seeded cotangent.
    `call(changed)` is the answer with some of these inputs replaced, of the same shapes and dtypes.
    `solve(workload, inputs)` is the forward answer of the same implementation and options, built for another
    workload. A check does not concern an implementation that does not support that workload.
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
    """`objection` is the doubt that the check answers, with its source. `name` is unique in its family.

    It concerns implementations of `semantics`, or those `named` (all when empty), that take every input
    in `inputs`, on workloads for which `when` holds, in these `modes`. Where `decides` is false it is a
    property of the semantics: it is reported with its size, and nothing fails for it.
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
