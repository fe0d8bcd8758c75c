"""The scripted world of tests/run, for what may happen around it."""

from tests.run.conftest import _undisturbed, execute

__all__ = ["_undisturbed", "execute"]
