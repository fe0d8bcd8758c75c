"""Shards: a sweep cut into parts for several machines, by whole comparison groups."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.core.errors import UsageError
from harness.core.plain_data import digest

_SHARD = re.compile(r"(\d{1,6})/(\d{1,6})")


@dataclass(frozen=True)
class Shard:
    """Part `index`, from 1, of the `count` parts of a sweep; `sweep` is equal for all of them."""

    index: int
    count: int
    sweep: str

    @classmethod
    def parse(cls, text: str, sweep: Mapping[str, Any]) -> Shard:
        """The part of a sweep that `3/8` names. UsageError where it names none."""
        match = _SHARD.fullmatch(text.strip())
        index, count = (int(match[1]), int(match[2])) if match else (0, 0)
        if not 1 <= index <= count:
            raise UsageError(f'--shard: "{text}" is no part of a whole; write 1/8 to 8/8')
        return cls(index, count, digest(sweep))

    def part(self, groups: Iterable[str]) -> frozenset[str]:
        """The groups of the sweep that fall to this part: in its order, each `count`-th.

        Lengths ascend in that order, so each part has short and long ones; a hash of the names would leave
        some parts of a small sweep empty. All implementations of a point stay together: no speedup is over
        two machines.
        """
        return frozenset(tuple(dict.fromkeys(groups))[self.index - 1 :: self.count])
