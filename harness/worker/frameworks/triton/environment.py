"""The environment variables that Triton reads when it is imported."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

from harness.catalog.known_frameworks import NO_TRITON
from harness.core.errors import Unsupported
from harness.core.version import version_of

TOO_OLD = ("1.", "2.", *(f"3.{minor}." for minor in range(6)))  # their interpreter hides launches


def prepare_environment(*, interpret: bool, cache: Path | None = None) -> None:
    """Set what Triton reads when it is imported. Unsupported where it is not installed."""
    if find_spec("triton") is None:
        raise Unsupported(NO_TRITON)
    version = version_of("triton") or ""
    if version.startswith(TOO_OLD):
        raise Unsupported(f"Triton {version} is too old: 3.6 is the first one; pip install -e '.[triton]'")
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
