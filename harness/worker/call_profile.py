"""Profile of one call: its slowest operators, its kernels by short names, and a check of its stages."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.catalog.family import Family
from harness.core.errors import Unsupported, nearest
from harness.core.stage import BACKWARD, JOINED
from harness.worker.frameworks.base import Framework, Prepared
from harness.worker.stage_recorder import OUTSIDE

MOST_OPERATORS = 20  # that a profile lists
PARAMETERS = re.compile(r"\((?:[^()]|\([^()]*\))*\)$")  # with a function's type among them at most


def longest_operators(
    framework: Framework, call: Callable[[], Any], prepared: Prepared, file: Path | None
) -> dict[str, Any]:
    """The slowest `operators` of a call, as plain dicts, or why they are `refused`.

    The whole trace is written to `file`, if given.
    """
    try:
        operators = framework.trace_operators(call, prepared, file)
    except Unsupported as refusal:
        return {"operators": (), "refused": str(refusal)}
    longest = sorted(operators, key=lambda operator: -operator.seconds)[:MOST_OPERATORS]
    return {"operators": [asdict(operator) for operator in longest], "refused": ""}


def count_kernels(framework: Framework, call: Callable[[], Any]) -> dict[str, Any]:
    """The `kernels` that a call runs, in order, as (name, count), or why they are `refused`."""
    try:
        names = framework.kernels(call)
    except Unsupported as refusal:
        return {"kernels": (), "refused": str(refusal)}
    return {"kernels": list(Counter(map(shorten, names)).items()), "refused": ""}


def time_stages(
    framework: Framework, call: Callable[[], Any], prepared: Prepared, family: Family
) -> dict[str, Any]:
    """The times of a call's `stages` by name, or why they are `refused`.

    ValueError for a marked stage that the family does not declare.
    """
    try:
        stages = framework.time_stages(call, prepared)
    except Unsupported as refusal:  # the case keeps its other figures
        return {"refused": str(refusal)}
    paths = {path for name in stages if name != OUTSIDE for path in name.split(JOINED)}
    for name in {word for path in paths for word in path.split("/")} - {BACKWARD, *family.stages}:
        known = ", ".join(family.stages) or "none"
        raise ValueError(
            f'"{name}" is no stage of family {family.name} (it has {known}){nearest(name, family.stages)}'
        )
    return {"stages": dict(stages)}


def shorten(name: str) -> str:
    """A kernel's name without its result type, its parameters and its namespaces.

    >>> shorten("void at::native::unrolled_kernel<4, at::native::FillFunctor<int> >(int, char*)")
    'unrolled_kernel<4, FillFunctor<int>>'
    """
    short = PARAMETERS.sub("", name.removeprefix("void ")).rstrip() or name
    return re.sub(r"\(anonymous namespace\)::|\b\w+::", "", short).replace(" >", ">")
