"""Cheats go through the real runner and end as the data say; the honest ones beside them are ok.

What no moment decides is held by `check`, which reads no clock. Detections that go by the clock have scripted
tests in tests/run/group, tests/gate/timed and tests/worker; the drill of all cheats is a long test.
"""

import pytest
import yaml

from tests.honesty.catalogue import BENCH, HONEST, PLUGINS, builders, cheats, sources, suites
from tests.honesty.drill import run_all, run_cheats, shortfall, unwell
from tests.honesty.page import PAGE, SECTIONS, page

LEAST = 32


BEFORE_THE_CLOCK = [cheat for cheat in cheats() if cheat.before_the_clock]


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """Those that are found without a clock, and the honest ones beside them, checked: nothing is timed."""
    found = {cheat.name for cheat in BEFORE_THE_CLOCK}
    timed = {cheat.name for cheat in cheats()} - found
    bench = yaml.safe_load(BENCH.read_text())
    bench["plugins"] = [str(BENCH.parent / plugin) for plugin in bench["plugins"]]
    bench["suites"] = {
        name: {**suite, "impls": [impl for impl in suite["impls"] if impl not in timed]}
        for name, suite in bench["suites"].items()
        if found & {*suite["impls"]}
    }
    bench["default"] = list(bench["suites"])
    folder = tmp_path_factory.mktemp("cheats")
    (folder / "bench.yaml").write_text(yaml.safe_dump(bench))
    return run_all(folder / "check", "check", folder / "bench.yaml")


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """One run of all of them."""
    return run_all(tmp_path_factory.mktemp("cheats") / "run")


@pytest.mark.torch
@pytest.mark.jax
@pytest.mark.parametrize("cheat", BEFORE_THE_CLOCK, ids=lambda cheat: cheat.name)
def test_a_wrong_answer_is_found_before_the_clock(checked, cheat):
    assert shortfall(cheat, checked) == ""


@pytest.mark.torch
@pytest.mark.jax
def test_every_honest_implementation_beside_them_passes_its_contract(checked):
    assert unwell(checked) == []


@pytest.mark.long
@pytest.mark.torch
@pytest.mark.jax
@pytest.mark.parametrize("cheat", cheats(), ids=lambda cheat: cheat.name)
def test_a_cheat_ends_as_the_data_say(ended, cheat):
    assert shortfall(cheat, ended) == ""


@pytest.mark.long
@pytest.mark.torch
@pytest.mark.jax
def test_every_honest_implementation_beside_them_is_ok(ended):
    assert unwell(ended) == []


def test_the_page_is_what_the_data_say():
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tests.honesty.page writes it"


def test_every_cheat_that_is_written_has_its_data():
    plugins = [plugin for plugin in PLUGINS.glob("*.py") if plugin.stem != HONEST]
    written = {name for plugin in plugins for name in builders(plugin)}
    assert written == {cheat.name for cheat in cheats()}
    assert len(written) >= LEAST


def test_every_cheat_is_run():
    assert {cheat.name for cheat in cheats()} == {cheat.name for cheat in run_cheats()}


def test_what_a_cheat_is_compared_with_runs_beside_it():
    for impls in suites().values():
        for cheat in cheats():
            if cheat.outcome == "harmless" and cheat.name in impls:
                assert cheat.like in impls or cheat.spares, cheat.name


def test_every_source_is_used_and_every_cheat_says_what_it_does():
    text = " ".join(cheat.met for cheat in cheats())
    assert [key for key in sources() if key not in text] == []
    assert {cheat.outcome for cheat in cheats()} == SECTIONS.keys()
    assert all(cheat.does.endswith(".") and cheat.met.endswith(".") for cheat in cheats())
