"""XLA's classes and functions of HLO modules, wherever the installed jaxlib has them."""

import importlib
from typing import Any


def jaxlib_hlo() -> Any:
    """Jaxlib's module of them. ImportError where it is not known."""
    try:
        return importlib.import_module("jaxlib._hlo")
    except ImportError:  # up to jaxlib 0.10.1 they are among everything else
        return importlib.import_module("jaxlib._jax")
