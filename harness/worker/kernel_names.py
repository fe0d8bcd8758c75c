"""Names of GPU kernels, short enough for a line and still different where the kernels are."""

import re
from hashlib import sha256

LONGEST = 100  # characters; of a longer name the first ones stay, and a hash of all


def shorten(name: str) -> str:
    """A kernel's name without its result type, its parameters and its namespaces.

    >>> shorten("void at::native::unrolled_kernel<4, at::native::FillFunctor<int> >(int, char*)")
    'unrolled_kernel<4, FillFunctor<int>>'
    """
    short = _without_parameters(name.removeprefix("void "))
    short = re.sub(r"\(anonymous namespace\)::|\b\w+::", "", short).replace(" >", ">")
    if len(short) <= LONGEST:
        return short
    return f"{short[:LONGEST]}…{sha256(name.encode()).hexdigest()[:8]}"


def _without_parameters(name: str) -> str:
    """The name up to the parenthesis that belongs to the last one, where one closes it."""
    if not name.endswith(")"):
        return name
    open_ = 0
    for place in range(len(name) - 1, -1, -1):
        open_ += {")": 1, "(": -1}.get(name[place], 0)
        if open_ == 0:
            return name[:place].rstrip() or name
    return name
