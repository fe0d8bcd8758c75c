"""Environment variables that Triton reads when it is imported."""

import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path

from harness.catalog.known_frameworks import NO_TRITON
from harness.core.errors import Unsupported
from harness.core.version import version_of

NEWEST = (1 << 30,)  # assumed for an unknown version


def prepare_environment(*, interpret: bool, cache: Path | None = None) -> None:
    """Set Triton's environment before its import. Raises Unsupported if it is missing or too old."""
    if find_spec("triton") is None:
        raise Unsupported(NO_TRITON)
    version, numpy = version_of("triton"), version_of("numpy")
    if _number(version) < (3, 6):  # older interpreters hide launches
        raise Unsupported(f"Triton {version} is older than 3.6; pip install -e '.[triton]'")
    if interpret and _number(version) < (3, 7) and _number(numpy) >= (2, 4):
        raise Unsupported(
            f"Triton {version} cannot interpret loops with numpy {numpy}; install triton>=3.7, or numpy<2.4"
        )
    # The default changes from Triton 3.9 to 3.10. Set explicitly, so that a kernel remains the same program.
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    os.environ.pop("TRITON_INTERPRET", None)  # a user's setting would prevent compilation
    if cache is not None:
        os.environ["TRITON_CACHE_DIR"] = str(cache)
    if interpret:
        os.environ["TRITON_INTERPRET"] = "1"
        # If torch has already imported Triton, its own decorated functions cannot be interpreted. So it is
        # imported again, except its native module, which can be loaded only once per process.
        for name in [name for name in sys.modules if name.partition(".")[0] == "triton"]:
            if not name.startswith("triton._C"):
                del sys.modules[name]


def _number(version: str | None) -> tuple[int, ...]:
    """Convert `3.10.0` to (3, 10)."""
    return tuple(map(int, re.findall(r"\d+", version)[:2])) if version else NEWEST
