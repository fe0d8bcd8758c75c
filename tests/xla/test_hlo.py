"""Where jaxlib keeps its classes of HLO: a module of their own since 0.10.2, else among everything else."""

import sys
from types import ModuleType

import pytest

from harness.xla.hlo import jaxlib_hlo


def test_an_older_jaxlib_has_them_elsewhere(monkeypatch):
    older = ModuleType("jaxlib._jax")
    older.HloPrintOptions = object
    monkeypatch.setitem(sys.modules, "jaxlib._hlo", None)
    monkeypatch.setitem(sys.modules, "jaxlib._jax", older)
    assert jaxlib_hlo() is older
    monkeypatch.setitem(sys.modules, "jaxlib._jax", ModuleType("jaxlib._jax"))
    with pytest.raises(ImportError):
        jaxlib_hlo()
