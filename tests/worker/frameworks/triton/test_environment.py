"""A Triton that is too old is refused in a sentence, before anything of it is imported."""

import tomllib
from pathlib import Path

import pytest

from harness.core.errors import Unsupported
from harness.worker.frameworks.triton import environment

PYPROJECT = Path(__file__).resolve().parents[4] / "pyproject.toml"


def prepare(monkeypatch, version):
    monkeypatch.setattr(environment, "find_spec", lambda _: object())
    monkeypatch.setattr(environment, "version_of", lambda _: version)
    for name in ("TRITON_DEFAULT_FP_FUSION", "TRITON_INTERPRET"):
        monkeypatch.setenv(name, "0")
    environment.prepare_environment(interpret=False)


@pytest.mark.parametrize("version", ["2.3.1", "3.1.0", "3.5.1"])
def test_an_old_one_is_refused_by_its_version(monkeypatch, version):
    with pytest.raises(Unsupported, match=rf"Triton {version} is too old: 3.6 is the first one; pip install"):
        prepare(monkeypatch, version)


@pytest.mark.parametrize("version", ["3.6.0", "3.9.0", "3.10.0", None])
def test_others_are_taken(monkeypatch, version):
    prepare(monkeypatch, version)


def test_the_extra_asks_for_what_is_taken():
    (needed,) = tomllib.loads(PYPROJECT.read_text())["project"]["optional-dependencies"]["triton"]
    assert needed == "triton>=3.6"
