"""What is registered elsewhere: under another import path, or in another interpreter.

This harness reads it; only the code that registers comes from there.
`python -m harness.catalog.elsewhere` prints what its interpreter has without plugins being read.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from harness.catalog import child, describe
from harness.catalog.catalog import Catalog
from harness.spec.errors import SideError, UsageError

SIDE_SECONDS = 120.0


def catalog_elsewhere(
    path: Sequence[str],
    plugins: Sequence[str],
    interpreter: str = sys.executable,
    seconds: float = SIDE_SECONDS,
    *,
    without: Sequence[str] = (),
) -> Catalog:
    """Everything registered where the folders of `path` come first on the import path.

    They must hold `harness` and `impls`, unless `path` is empty. Modules in `without` are not read,
    though an installed package offers them; one that is read may register nothing yet. SideError
    says what does not load.
    """
    try:
        found = child.ask(["harness.catalog.elsewhere"], seconds, path=path, interpreter=interpreter)
        everything = Catalog.from_json(found["builtin"])
        for source in dict.fromkeys([*found["installed"], *plugins]):
            if source not in without:
                read = describe.plugin(source, path=path, interpreter=interpreter)
                everything = everything.merged(read)
    except (child.Unreadable, UsageError) as error:
        raise SideError(str(error)) from None
    return everything


def _own() -> dict[str, Any]:
    return {"builtin": describe.builtin().to_json(), "installed": describe.installed()}


if __name__ == "__main__":
    child.answer(_own)
