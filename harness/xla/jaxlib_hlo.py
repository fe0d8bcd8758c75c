"""jaxlib's classes and functions for HLO modules, whose place depends on its version."""

import importlib
from contextlib import suppress
from typing import Any


def jaxlib_hlo() -> Any:
    """The module of jaxlib that has them. ImportError if this jaxlib is not known."""
    for name in ("jaxlib._hlo", "jaxlib._jax"):  # the second up to jaxlib 0.10.1
        with suppress(ImportError):
            module = importlib.import_module(name)
            if hasattr(module, "HloPrintOptions"):
                return module
    raise ImportError("this jaxlib has its classes of HLO modules elsewhere")
