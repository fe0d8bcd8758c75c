"""An unsupported Triton version is refused before Triton is imported."""

import tomllib
from pathlib import Path

import pytest

from harness.core.errors import Unsupported
from harness.worker.frameworks.triton import environment

PYPROJECT = Path(__file__).resolve().parents[4] / "pyproject.toml"


def prepare(monkeypatch, version, numpy="2.4.6", *, interpret=False):
    versions = {"triton": version, "numpy": numpy}
    monkeypatch.setattr(environment, "find_spec", lambda _: object())
    monkeypatch.setattr(environment, "version_of", versions.__getitem__)
    monkeypatch.setattr(environment.sys, "modules", {})  # do not remove this process's Triton
    for name in ("TRITON_DEFAULT_FP_FUSION", "TRITON_INTERPRET"):
        monkeypatch.setenv(name, "0")
    environment.prepare_environment(interpret=interpret)


@pytest.mark.parametrize("version", ["2.3.1", "3.1.0", "3.5.1"])
def test_an_old_triton_is_refused_with_its_version(monkeypatch, version):
    with pytest.raises(Unsupported, match=rf"Triton {version} is older than 3.6; pip install"):
        prepare(monkeypatch, version)


@pytest.mark.parametrize("numpy", ["2.4.0", "2.10.1"])
def test_an_interpreter_without_loops_is_refused_with_the_numpy_version(monkeypatch, numpy):
    with pytest.raises(
        Unsupported, match=rf"Triton 3.6.0 .* with numpy {numpy}; install triton>=3.7, or numpy<2.4"
    ):
        prepare(monkeypatch, "3.6.0", numpy, interpret=True)


@pytest.mark.parametrize(
    ("version", "numpy", "interpret"),
    [("3.6.0", "2.3.5", True), ("3.7.1", "2.4.6", True), ("3.6.0", "2.4.6", False), ("3.10.0", None, False)],
)
def test_other_version_pairs_are_accepted(monkeypatch, version, numpy, interpret):
    prepare(monkeypatch, version, numpy, interpret=interpret)


def test_the_extra_requires_the_accepted_versions():
    ours, needed = tomllib.loads(PYPROJECT.read_text())["project"]["optional-dependencies"]["triton"]
    assert (ours, needed) == ("seqsweep[torch]", "triton>=3.6,<3.10")
