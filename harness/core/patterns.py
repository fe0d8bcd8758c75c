"""Case ids by pattern: only `*` and `?` mean more than themselves.

Ids contain brackets (`topk/two_stage[buckets=4096,keep=2]@…`), so a pattern has no character sets.
"""

import difflib
import fnmatch
from collections.abc import Iterable, Sequence

from harness.core.errors import UsageError


def matches(pattern: str, case_id: str) -> bool:
    """Whether an id is the pattern, or what its `*` and `?` stand for."""
    return fnmatch.fnmatchcase(case_id, pattern.replace("[", "[[]"))


def matching_ids(patterns: Sequence[str], ids: Iterable[str], where: str = "--cases") -> tuple[str, ...]:
    """The ids that any pattern matches, in their order. UsageError for a pattern that matches none."""
    known = tuple(ids)
    for pattern in patterns:
        if not any(matches(pattern, case_id) for case_id in known):
            raise UsageError(f'{where}: no case matches "{pattern}"{_near(pattern, known)}')
    return tuple(case_id for case_id in known if any(matches(pattern, case_id) for pattern in patterns))


def _near(pattern: str, ids: Sequence[str]) -> str:
    """The id or the implementation that was meant; one id as an example where nothing is near."""
    whole = {f"{case_id.partition('@')[0]}@*": None for case_id in ids}
    close = difflib.get_close_matches(pattern, [*whole, *ids], n=1, cutoff=0.6)
    if close:
        return f'; nearest: "{close[0]}"'
    return f'; an id is written like "{ids[0]}"' if ids else "; no case is left to choose from"
