"""Profile of one call: its slowest operators, its kernels, and the times of its stages."""

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

MOST_OPERATORS = 20  # listed in a profile
PARAMETERS = re.compile(r"\((?:[^()]|\([^()]*\))*\)$")  # may contain one function type


def longest_operators(
    framework: Framework, call: Callable[[], Any], prepared: Prepared, file: Path | None
) -> dict[str, Any]:
    """The slowest `operators` of a call as dicts; `refused` is the reason if there are none.

    The complete trace is written to `file`, if given.
    """
    try:
        operators = framework.trace_operators(call, prepared, file)
    except Unsupported as refusal:
        return {"operators": (), "refused": str(refusal)}
    longest = sorted(operators, key=lambda operator: -operator.seconds)[:MOST_OPERATORS]
    return {"operators": [asdict(operator) for operator in longest], "refused": ""}


def count_kernels(framework: Framework, call: Callable[[], Any]) -> dict[str, Any]:
    """The `kernels` of a call in launch order as (name, count); `refused` is the reason if there are none."""
    try:
        names = framework.kernels(call)
    except Unsupported as refusal:
        return {"kernels": (), "refused": str(refusal)}
    return {"kernels": list(Counter(map(shorten, names)).items()), "refused": ""}


def time_stages(
    framework: Framework, call: Callable[[], Any], prepared: Prepared, family: Family
) -> dict[str, Any]:
    """The times of a call's `stages` by name; `refused` is the reason if there are none.

    Raises ValueError for a marked stage that the family does not declare.
    """
    try:
        stages = framework.time_stages(call, prepared)
    except Unsupported as refusal:  # the case still has its other figures
        return {"refused": str(refusal)}
    paths = {path for name in stages if name != OUTSIDE for path in name.split(JOINED)}
    for name in {word for path in paths for word in path.split("/")} - {BACKWARD, *family.stages}:
        known = ", ".join(family.stages) or "none"
        raise ValueError(
            f'family {family.name} has no stage "{name}" (stages: {known}){nearest(name, family.stages)}'
        )
    return {"stages": dict(stages)}


def shorten(name: str) -> str:
    """A kernel's name without result type, parameters and namespaces.

    >>> shorten("void at::native::unrolled_kernel<4, at::native::FillFunctor<int> >(int, char*)")
    'unrolled_kernel<4, FillFunctor<int>>'
    """
    short = PARAMETERS.sub("", name.removeprefix("void ")).rstrip() or name
    return re.sub(r"\(anonymous namespace\)::|\b\w+::", "", short).replace(" >", ">")
