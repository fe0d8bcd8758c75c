import dataclasses
from contextlib import closing

import pytest

from harness.catalog.catalog import Catalog
from harness.core.errors import MachineError
from harness.run.compile import CompileResult, Pool
from harness.run.compile import pool as module
from harness.run.compile.pool import cache_key
from tests.run.compile.fakes import MIB, SETTINGS, FakeLane, answer


@pytest.fixture
def pool(catalog, tmp_path):
    """Creates pools of one worker with the same results folder; all are closed at the end."""
    made = []

    def make(worker):
        made.append(Pool(catalog, tmp_path, [worker]))
        return made[-1]

    yield make
    for one in made:
        one.close()


def heard(pool, *asks, settings=SETTINGS):
    for one in asks:
        pool.submit(one, settings)
    return {(told.case.seq, told.target): said for told, said in (pool.next_result() for _ in asks)}


def test_compiled_result_is_cached(pool, ask):
    worker = FakeLane()
    first = heard(pool(worker), ask(), ask(2048))[1024, "host"]
    again = heard(pool(worker), ask(), ask(2048))[1024, "host"]
    assert len(worker.compiled) == 2
    assert (first.cached, again.cached) == (False, True)
    assert again == dataclasses.replace(first, cached=True)
    assert (again.cost.flops, again.facts) == (7.0, {"approximation": "none"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("_packages", "another jaxlib"),
        ("_flags", "XLA_FLAGS"),
        ("_reader", "figures are read in another way"),
        ("_processor", "another one"),
    ],
)
def test_cache_key_has_all_dependencies(pool, ask, monkeypatch, name, value):
    worker = FakeLane()
    heard(pool(worker), ask())
    monkeypatch.setattr(module, name, lambda: value)
    heard(pool(worker), ask())
    assert len(worker.compiled) == 2


@pytest.mark.parametrize("name", ["XLA_FLAGS", "TPU_LIBRARY_PATH", "LIBTPU_INIT_ARGS", "JAX_ENABLE_X64"])
def test_variables_that_change_programs_are_in_the_key(pool, ask, monkeypatch, name):
    worker = FakeLane()
    for value, compiled in (("one", 1), ("other", 2), ("one", 2)):
        monkeypatch.setenv(name, value)
        module._flags.cache_clear()
        heard(pool(worker), ask())
        assert len(worker.compiled) == compiled
    module._flags.cache_clear()


def test_result_of_an_edited_source_is_not_cached(catalog, ask, tmp_path):
    file = tmp_path / "scatter.py"
    file.write_text("")
    info = dataclasses.replace(catalog.implementation("mask/scatter"), file=str(file))
    known = dataclasses.replace(catalog, implementations={"mask/scatter": info})

    def edit(_):
        file.write_text("edited = True")
        return answer()

    for act, said in ((edit, "skipped"), (lambda _: answer(), "ok")):
        file.write_text("")
        worker = FakeLane({("mask/scatter", 1024, "host"): act})
        with closing(Pool(known, tmp_path, [worker])) as pool:
            told = heard(pool, ask())[1024, "host"]
        assert (told.status, told.cached, len(worker.compiled)) == (said, False, 1)


def test_a_compiler_that_is_not_installed_is_a_failure_of_this_machine_alone(pool, ask, monkeypatch):
    monkeypatch.setattr("harness.run.compile.pool.why_not_by_xla", lambda _: "libtpu is not installed")
    worker = FakeLane()
    said = heard(pool(worker), ask(target="tpu:v5p"))[1024, "tpu:v5p"]
    assert (said.status, said.reason, said.transient) == ("unsupported", "libtpu is not installed", True)
    assert worker.compiled == []


def test_the_key_follows_the_source_of_a_variant(pool, ask, catalog):
    request = ask()
    info = catalog.implementation(request.case.implementation)
    changed = dataclasses.replace(info, hash="closure:other")
    other = Catalog(catalog.families, {**catalog.implementations, info.id: changed})
    assert cache_key(request, catalog, SETTINGS) == cache_key(request, catalog, SETTINGS)
    assert cache_key(request, catalog, SETTINGS) != cache_key(request, other, SETTINGS)


def test_the_memory_limit_decides_what_fits_but_is_no_reason_to_compile_again(pool, ask):
    worker = FakeLane()
    roomy = heard(pool(worker), ask())[1024, "host"]
    tight = dataclasses.replace(SETTINGS, memory_bytes=2 * MIB)
    assert roomy.static.fits is True
    assert heard(pool(worker), ask(), settings=tight)[1024, "host"].static.fits is False
    assert len(worker.compiled) == 1


def test_death_timeout_and_abandoned_trace_are_not_cached(pool, ask):
    why = "tracing it took more than 10 s"
    ends = [
        CompileResult.failed("crashed", "killed"),
        CompileResult.failed("oom", "full"),
        CompileResult.failed("unsupported", "jax cannot be imported", transient=True),
        dataclasses.replace(answer(), static=CompileResult.failed("ok", why).static),
        dataclasses.replace(answer(), facts={"size": object()}),  # which JSON cannot hold
    ]
    for end in ends:
        worker = FakeLane({("mask/scatter", 1024, "host"): end})
        for _ in range(2):
            assert heard(pool(worker), ask())[1024, "host"].status == end.status
        assert len(worker.compiled) == 2


def test_compiler_out_of_memory_is_cached(pool, ask, monkeypatch):
    static = dataclasses.replace(CompileResult.failed("ok", "HBM").static, fits=False)
    full = dataclasses.replace(answer(), static=static)
    monkeypatch.setattr("harness.run.compile.pool.why_not_by_xla", lambda _: None)
    worker = FakeLane({("mask/scatter", 1024, "tpu:v5p"): full})
    for cached in (False, True):
        said = heard(pool(worker), ask(target="tpu:v5p"))[1024, "tpu:v5p"]
        assert (said.static.fits, said.cached) == (False, cached)
    assert len(worker.compiled) == 1


def test_incomplete_cache_entry_is_compiled_again(pool, ask, tmp_path):
    worker = FakeLane()
    heard(pool(worker), ask())
    (entry,) = (tmp_path / "compiled").rglob("*.json")
    entry.write_bytes(entry.read_bytes()[:-20])
    assert heard(pool(worker), ask())[1024, "host"].cached is False
    assert heard(pool(worker), ask())[1024, "host"].cached is True


def test_after_a_timeout_longer_lengths_are_skipped_and_shorter_ones_not(pool, ask):
    worker = FakeLane({("mask/scatter", 2048, "host"): CompileResult.failed("timeout", "no answer")})
    said = heard(pool(worker), ask(2048), ask(4096), ask(1024))
    ends = {seq: one.status for (seq, _), one in said.items()}
    assert ends == {2048: "timeout", 4096: "skipped", 1024: "ok"}
    assert said[4096, "host"].reason == "inferred: compiling seq 2Ki took too long"


def test_equal_requests_are_compiled_once(pool, ask):
    worker = FakeLane()
    one = pool(worker)
    for request in (ask(), ask(), ask(2048)):
        one.submit(request, SETTINGS)
    told = sorted((request.case.seq, said.cached) for request, said in (one.next_result() for _ in range(3)))
    assert told == [(1024, False), (1024, True), (2048, False)]
    assert len(worker.compiled) == 2


def test_worker_error_reaches_the_user(pool, ask):
    worker = FakeLane({("mask/scatter", 1024, "host"): MachineError("no process can be started")})
    with pytest.raises(MachineError, match="no process"):
        heard(pool(worker), ask())
