"""A builder of DataFrames: rows one by one, then the columns that columns.toml names, with their dtypes."""

import tomllib
from collections.abc import Mapping, Sequence
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

import pandas as pd

from harness.core.workload import canonical

COLUMNS: Mapping[str, Mapping[str, list[str]]] = tomllib.loads(
    Path(__file__).with_name("columns.toml").read_text()
)
COMPUTED = "computed"


class FrameBuilder:
    """The columns of one of COLUMNS, and further ones whose dtype follows from their values.

    A value that is None, or an empty text, is missing: NaN in floats, NA or NaT elsewhere.
    """

    def __init__(self, name: str) -> None:
        self._columns = COLUMNS[name]
        sources = [source.split(".", 1) for _, source, _ in self._columns.values() if source]
        self._fields = {part: [field for other, field in sources if other == part] for part, _ in sources}
        # The first field once more at the end: of a single one both getters would give no tuple.
        self._getters: dict[str, Any] = {
            part: (itemgetter if part == COMPUTED else attrgetter)(*names, names[0])
            for part, names in self._fields.items()
        }
        self._blanks = {part: (None,) * (len(names) + 1) for part, names in self._fields.items()}
        self._rows: dict[str, list[tuple[Any, ...]]] = {part: [] for part in self._fields}
        self._further: list[Mapping[str, Any]] = []

    def append(self, further: Mapping[str, Any], **parts: Any) -> None:
        """Add a row from what the sources name; of a part that is None all values are missing.

        `further` are the values of further columns, by name.
        """
        for part, get in self._getters.items():
            self._rows[part].append(self._blanks[part] if parts[part] is None else get(parts[part]))
        self._further.append(further)

    def frame(self) -> pd.DataFrame:
        """The table; without a source a column is NaN; a further one of its name is `workload_NAME`."""
        data: dict[str, pd.Series] = {}
        for name, (kind, source, _) in self._columns.items():
            part, _, field = source.partition(".")
            place = self._fields[part].index(field) if part else 0
            values = [row[place] for row in self._rows[part]] if part else [None] * len(self._further)
            data[name] = _series(values, kind)
        for name in sorted({name for further in self._further for name in further}):
            values = [further.get(name) for further in self._further]
            data[f"workload_{name}" if name in data else name] = _infer(values)
        return pd.DataFrame(data, copy=False)


def _series(values: Sequence[Any], kind: str) -> pd.Series:
    if kind == "time":
        times = pd.to_datetime(list(values), utc=True, format="ISO8601", errors="coerce")
        return pd.Series(times.as_unit("us"))
    if kind in {"category", "str"}:
        return pd.Series([text or None for text in values], dtype="str").astype(kind)
    return pd.Series(values, dtype=kind)


def _infer(values: Sequence[Any]) -> pd.Series:
    """Whole numbers, numbers and booleans as such, where all values are; else spellings, as categories."""
    kinds = set(map(type, values)) - {type(None)}
    for allowed, kind in (({bool}, "boolean"), ({int}, "Int64"), ({int, float}, "float64")):
        if kinds and kinds <= allowed:
            return _series(values, kind)
    return _series([None if value is None else canonical(value) for value in values], "category")
