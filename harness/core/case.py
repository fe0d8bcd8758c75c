"""A case: one implementation with its options, at one workload, in one mode, on one device."""

import difflib
import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from harness.core.errors import UsageError
from harness.core.workload import Value, canonical


@dataclass(frozen=True)
class Case:
    """One implementation at one point: the unit that is measured and stored.

    `options` and `workload` are sorted (name, value) pairs. They are complete, except for workload fields
    that were added later and have their default.
    """

    implementation: str
    options: tuple[tuple[str, Value], ...]
    workload: tuple[tuple[str, Value], ...]
    mode: str
    device: str

    @classmethod
    def of(
        cls,
        implementation: str,
        options: Mapping[str, Value],
        workload: Mapping[str, Value],
        mode: str = "fwd",
        device: str = "cpu",
    ) -> "Case":
        pairs = tuple(sorted(options.items())), tuple(sorted(workload.items()))
        return cls(implementation, *pairs, mode, device)

    def to_json(self) -> dict[str, Any]:
        """The case as plain data, for :meth:`of`."""
        return {**vars(self), "options": dict(self.options), "workload": dict(self.workload)}

    @property
    def family(self) -> str:
        return self.implementation.split("/", 1)[0]

    @property
    def seq(self) -> int:
        return int(dict(self.workload)["seq"] or 0)

    @property
    def label(self) -> str:
        """The implementation with its options: `topk/two_stage[buckets=4096,keep=2]`."""
        return label(self.implementation, self.options)

    @property
    def point(self) -> str:
        return _spell(self.workload)

    @property
    def id(self) -> str:
        return f"{self.label}@{self.point}:{self.mode}:{self.device}"

    @property
    def group(self) -> str:
        """The key of the case's group, equal for all cases that are compared with each other."""
        return f"{self.family}@{self.point}:{self.mode}:{self.device}"

    @property
    def panel(self) -> str:
        """The id without implementation and length, for one table or chart: `batch=1,rows=128:fwd:cpu`."""
        rest = [pair for pair in self.workload if pair[0] != "seq"]
        return f"{_spell(rest)}:{self.mode}:{self.device}"

    @property
    def series(self) -> str:
        """The key of the case's series, equal for cases that differ only in sequence length."""
        return f"{self.label}@{self.panel}"


def label(implementation: str, options: tuple[tuple[str, Value], ...] | Mapping[str, Value]) -> str:
    """`family/name[option=value,…]`, options sorted, defaults included."""
    pairs = sorted(options.items()) if isinstance(options, Mapping) else options
    if not pairs:
        return implementation
    return f"{implementation}[{_spell(pairs)}]"


def _spell(pairs: Iterable[tuple[str, Value]]) -> str:
    return ",".join(f"{name}={canonical(value)}" for name, value in pairs)


def split_label(text: str) -> tuple[str, dict[str, str]]:
    """`two_stage[buckets=64,keep=2]` → (`two_stage`, {`buckets`: `64`, `keep`: `2`})."""
    match = re.fullmatch(r"([^\[\]]+)(?:\[([^\[\]]*)\])?", text.strip())
    if match is None:
        raise ValueError(f'"{text}" is not an implementation; write name or name[option=value]')
    options = {}
    for pair in filter(None, (match[2] or "").split(",")):
        name, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(f'option "{pair}" in "{text}" has no value; write {pair}=…')
        if name.strip() in options:
            raise ValueError(f'option "{name.strip()}" is twice in "{text}"; give it one value')
        options[name.strip()] = value.strip()
    return match[1].strip(), options


class IdParts(NamedTuple):
    """The parts of a case's id."""

    label: str
    point: str
    mode: str
    device: str

    @property
    def fields(self) -> dict[str, str]:
        """The workload's fields, with their values as the id spells them."""
        pairs = (pair.partition("=") for pair in self.point.split(",") if pair)
        return {name: value for name, _, value in pairs}


def split_id(case_id: str) -> IdParts:
    """Split an id like `mask/scatter@batch=1,seq=64:fwd:cpu`. ValueError for another text."""
    label, _, setting = case_id.partition("@")
    return IdParts(label, *split_setting(setting))


def split_setting(text: str) -> tuple[str, str, str]:
    """Split the end of an id: `batch=1,seq=64:fwd:cpu` → (`batch=1,seq=64`, `fwd`, `cpu`)."""
    parts = text.rsplit(":", 2)  # from the right, because a text field may contain a colon
    if len(parts) < 3:
        raise ValueError(f'"{text}" is not the end of a case id; write field=value,…:mode:device')
    return parts[0], parts[1], parts[2]


def split_list(text: str) -> list[str]:
    """Split at commas outside brackets."""
    return [part.strip() for part in re.split(r",(?![^\[]*\])", text) if part.strip()]


def matches(pattern: str, case_id: str) -> bool:
    """Whether an id matches a pattern with `*` and `?`."""
    return fnmatch.fnmatchcase(case_id, pattern.replace("[", "[[]"))


def matching_ids(patterns: Sequence[str], ids: Iterable[str], where: str = "--cases") -> tuple[str, ...]:
    """The ids that match any pattern, in their order. UsageError for a pattern without a match."""
    known = tuple(ids)
    for pattern in patterns:
        if not any(matches(pattern, case_id) for case_id in known):
            raise UsageError(f'{where}: no case matches "{pattern}"{_near(pattern, known)}')
    return tuple(case_id for case_id in known if any(matches(pattern, case_id) for pattern in patterns))


def _near(pattern: str, ids: Sequence[str]) -> str:
    """The nearest id or implementation; else one id as an example."""
    whole = {f"{case_id.partition('@')[0]}@*": None for case_id in ids}
    close = difflib.get_close_matches(pattern, [*whole, *ids], n=1, cutoff=0.6)
    if close:
        return f'; nearest: "{close[0]}"'
    return f'; write an id like "{ids[0]}"' if ids else "; there are no cases"
