"""XLA's classes and functions of HLO modules, wherever the installed jaxlib has them."""

import importlib
from contextlib import suppress
from typing import Any


def jaxlib_hlo() -> Any:
    """Jaxlib's module of them. ImportError where it is not known."""
    for name in ("jaxlib._hlo", "jaxlib._jax"):  # up to jaxlib 0.10.1 they are among everything else
        with suppress(ImportError):
            module = importlib.import_module(name)
            if hasattr(module, "HloPrintOptions"):
                return module
    raise ImportError("this jaxlib has its classes of HLO modules elsewhere")
