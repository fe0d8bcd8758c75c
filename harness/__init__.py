"""What an implementation or a family imports: `from harness import …`. Loads no framework.

The names load with the first that is asked for: `seqsweep --help` asks for none.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.catalog.face import *  # noqa: F403 - editors and type checkers see what __getattr__ gives


def __getattr__(name: str) -> Any:
    from harness.catalog import face

    if name not in face.__all__:
        raise AttributeError(f"module 'harness' has no attribute {name!r}")
    return getattr(face, name)
