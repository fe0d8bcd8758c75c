"""Refusal of flags that would change nothing, by the table in flag_conflicts.toml."""

import functools
import tomllib
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from harness.core.errors import UsageError

KERNEL, MODELS, ALL_MODELS = "FILE.py::KERNEL", "list models", "list models without NAME"
# The modes that the words of a command choose, and no flag.
MODES_OF: dict[str, Callable[[Sequence[str]], Collection[str]]] = {
    "static": lambda words: [KERNEL for word in words if "::" in word or word.endswith(".py")],
    "list": lambda words: [MODELS, *[ALL_MODELS][len(words) - 1 :]] if words[:1] == ["models"] else [],
}


class Exclusion(NamedTuple):
    """What a mode of a command goes without: the flags `refused`, or all but those `taken`."""

    mode: str
    why: str
    refused: str = ""
    taken: str = ""

    def excludes(self, flag: str) -> bool:
        return flag in self.refused.split() if self.refused else flag not in {self.mode, *self.taken.split()}


class Requirement(NamedTuple):
    """A flag that changes something only with another one, or with one of several."""

    flag: str
    needed: Sequence[str]
    why: str


@functools.cache
def conflicts() -> dict[str, tuple[list[Exclusion], list[Requirement]]]:
    """What excludes each other, and what needs what, by command."""
    table = tomllib.loads(Path(__file__).with_name("flag_conflicts.toml").read_text("utf-8"))
    return {
        command: (
            [Exclusion(**each) for each in rules.get("excludes", ())],
            [Requirement(**each) for each in rules.get("needs", ())],
        )
        for command, rules in table.items()
    }


def refuse_conflicts(command: str, given: Sequence[str], words: Sequence[str]) -> None:
    """UsageError for the first flag that would change nothing; `words` are the values of arguments."""
    exclusions, needs = conflicts().get(command, ((), ()))
    modes = {*given, *(MODES_OF[command](words) if command in MODES_OF else ())}
    for exclusion in exclusions:
        for flag in given if exclusion.mode in modes else ():
            if exclusion.excludes(flag):
                raise UsageError(f"{flag} does not go with {exclusion.mode}: {exclusion.why}; leave one out")
    for need in needs:
        if need.flag in given and modes.isdisjoint(need.needed):
            raise UsageError(f"{need.flag}: goes with {' or '.join(need.needed)}; {need.why}")
