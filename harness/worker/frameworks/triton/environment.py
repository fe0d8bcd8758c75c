"""The environment variables that Triton reads when it is imported."""

import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path

from harness.catalog.known_frameworks import NO_TRITON
from harness.core.errors import Unsupported
from harness.core.version import version_of

NEWEST = (1 << 30,)  # what a version that is not known counts as


def prepare_environment(*, interpret: bool, cache: Path | None = None) -> None:
    """Set what Triton reads when it is imported. Unsupported where it is not installed."""
    if find_spec("triton") is None:
        raise Unsupported(NO_TRITON)
    version, numpy = version_of("triton"), version_of("numpy")
    if _number(version) < (3, 6):  # their interpreters hide launches
        raise Unsupported(f"Triton {version} is too old: 3.6 is the first one; pip install -e '.[triton]'")
    if interpret and _number(version) < (3, 7) and _number(numpy) >= (2, 4):
        raise Unsupported(
            f"Triton {version} interprets no loops with numpy {numpy}; pip install 'numpy<2.4', or Triton 3.7"
        )
    # The default changes from Triton 3.9 to 3.10; fixed, so that the same kernel stays the same program.
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    os.environ.pop("TRITON_INTERPRET", None)  # a user's setting would prevent compilation
    if cache is not None:
        os.environ["TRITON_CACHE_DIR"] = str(cache)
    if interpret:
        os.environ["TRITON_INTERPRET"] = "1"
        # torch may have imported Triton already, whose own decorated functions then cannot be interpreted: it
        # is imported again. Its native module stays, because it can be loaded only once per process.
        for name in [name for name in sys.modules if name.partition(".")[0] == "triton"]:
            if not name.startswith("triton._C"):
                del sys.modules[name]


def _number(version: str | None) -> tuple[int, ...]:
    """`3.10.0` as (3, 10)."""
    return tuple(map(int, re.findall(r"\d+", version)[:2])) if version else NEWEST
