"""What a framework declares, wherever it comes from; no version's place among others is left to chance."""

from importlib.metadata import EntryPoint

import pytest

from harness.catalog import known_frameworks
from harness.catalog.known_frameworks import (
    BUILT_IN,
    UNKNOWN_FRAMEWORK,
    FrameworkTraits,
    Package,
    known,
    packages_of,
    require_framework,
    traits_of,
)
from harness.core.errors import UsageError

TRAITS = FrameworkTraits(runner="tables:Tables", packages=(Package("tables"), Package("numpy")))


class Tables:
    """What an entry point must not name."""


@pytest.fixture
def register(monkeypatch):
    def register(**places):
        points = [EntryPoint(name, place, known_frameworks.ENTRY_POINTS) for name, place in places.items()]
        monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points)
        known_frameworks.registered_traits.cache_clear()

    yield register
    monkeypatch.undo()
    known_frameworks.registered_traits.cache_clear()


def test_versions_have_a_fixed_order(register):
    register()
    fingerprinted = [package.name for package in packages_of(known()) if package.fingerprinted]
    assert fingerprinted == ["torch", "jax", "jaxlib", "libtpu", "numpy", "ml_dtypes", "triton"]
    assert [package.name for package in packages_of(known()) if package.only_on] == ["triton"]
    register(tables=f"{__name__}:TRAITS", arrays=f"{__name__}:TRAITS")
    assert known() == [*BUILT_IN, "arrays", "tables"]
    assert [package.name for package in packages_of(known())][-2:] == ["triton", "tables"]


def test_a_framework_is_described_by_its_traits(register):
    register(tables=f"{__name__}:TRAITS", torch=f"{__name__}:TRAITS")
    require_framework("tables")
    assert traits_of("tables") is TRAITS
    assert traits_of("torch").runner == "harness.worker.frameworks.torch.framework:Torch"


def test_an_unknown_framework_has_empty_traits(register):
    register()
    assert traits_of("gone") is UNKNOWN_FRAMEWORK


@pytest.mark.parametrize(
    ("place", "says"),
    [
        (f"{__name__}:Tables", "it is a type, not a FrameworkTraits.; fix or uninstall its package"),
        ("no_such_package:TRAITS", "ModuleNotFoundError: .*; fix or uninstall its package"),
        (f"{__name__}:NONE", "AttributeError: .*; fix or uninstall its package"),
    ],
)
def test_an_invalid_entry_point_is_one_sentence(register, place, says):
    register(tables=place)
    with pytest.raises(UsageError, match=says):
        traits_of("tables")
