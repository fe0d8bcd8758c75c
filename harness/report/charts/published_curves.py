"""Published speedups, which charts draw next to measured ones: curves.toml in the folder of a family."""

import tomllib
from collections.abc import Collection

from harness.core.paths import PROJECT
from harness.report.charts.model import PublishedCurve

FILES = "impls/*/curves.toml"


def published_curves(families: Collection[str]) -> list[PublishedCurve]:
    """The curves of the project's own families, in the order of their names."""
    return [
        PublishedCurve(
            *(curve["implementation"], curve["baseline"], curve["mode"], curve["source"]),
            tuple((seq, baseline / own) for seq, baseline, own in curve["times_ms"]),
        )
        for path in sorted(PROJECT.glob(FILES))
        if path.parent.name in families
        for curve in tomllib.loads(path.read_text())["curves"]
    ]
