"""A compile worker sends a case to where its framework is compiled, or refuses it and starts nothing."""

import pytest

from harness.run.compile.compile_worker import CompileWorker
from tests.run.compile.fakes import SETTINGS


@pytest.fixture
def worker(catalog, monkeypatch):
    """One that says where it would compile."""
    monkeypatch.setattr(CompileWorker, "_compile_for_host", lambda *_: "for the host")
    monkeypatch.setattr(CompileWorker, "_compile_for_target", lambda *_: "for a target")
    return CompileWorker(catalog)


@pytest.mark.parametrize(
    ("implementation", "target", "where"),
    [
        ("mask/scatter", "host", "for the host"),
        ("mask/torch_scatter", "host", "for the host"),
        ("mask/scatter", "tpu:v5p", "for a target"),
    ],
)
def test_the_host_compiles_everything_and_a_target_compiles_jax(worker, ask, implementation, target, where):
    assert worker.compile(ask(target=target, implementation=implementation), SETTINGS) == where


@pytest.mark.parametrize("target", ["tpu:v5p", "cuda:h200"])
def test_a_target_has_no_compiler_for_torch(worker, ask, target):
    answer = worker.compile(ask(target=target, implementation="mask/torch_scatter"), SETTINGS)
    assert answer.status == "unsupported"
    assert answer.reason == f"torch has no compiler for {target}; its figures are the host's"
    assert worker.processes is None
