"""Cheats run in the real runner with the expected outcomes; honest implementations in their groups are ok.

`check` tests outcomes that do not depend on timing. Detections that depend on timing have scripted tests in
 tests/run/group, tests/gate/timed and tests/worker; the drill of all cheats is a long test.
"""

import pytest
import yaml

from tests.honesty.catalogue import BENCH, HONEST, PLUGINS, builders, cheats, sources, suites
from tests.honesty.drill import difference, failed_honest, run_all, run_cheats
from tests.honesty.page import PAGE, SECTIONS, page

LEAST = 32
FOUND_BY_CHECK = [cheat for cheat in cheats() if cheat.found_by_check]


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """Check the cheats that do not depend on timing, and the honest implementations of their groups."""
    found = {cheat.name for cheat in FOUND_BY_CHECK}
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
    """One run of all cheats."""
    return run_all(tmp_path_factory.mktemp("cheats") / "run")


@pytest.mark.torch
@pytest.mark.jax
@pytest.mark.parametrize("cheat", FOUND_BY_CHECK, ids=lambda cheat: cheat.name)
def test_check_finds_a_wrong_result(checked, cheat):
    assert difference(cheat, checked) == ""


@pytest.mark.torch
@pytest.mark.jax
def test_honest_implementations_pass_their_contract(checked):
    assert failed_honest(checked) == []


@pytest.mark.long
@pytest.mark.torch
@pytest.mark.jax
@pytest.mark.parametrize("cheat", cheats(), ids=lambda cheat: cheat.name)
def test_a_cheat_has_the_expected_outcome(ended, cheat):
    assert difference(cheat, ended) == ""


@pytest.mark.long
@pytest.mark.torch
@pytest.mark.jax
def test_honest_implementations_are_ok(ended):
    assert failed_honest(ended) == []


def test_the_page_is_current():
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tests.honesty.page writes it"


def test_every_cheat_has_data():
    plugins = [plugin for plugin in PLUGINS.glob("*.py") if plugin.stem != HONEST]
    written = {name for plugin in plugins for name in builders(plugin)}
    assert written == {cheat.name for cheat in cheats()}
    assert len(written) >= LEAST


def test_every_cheat_is_run():
    assert {cheat.name for cheat in cheats()} == {cheat.name for cheat in run_cheats()}


def test_the_honest_implementation_is_in_the_same_suite():
    for impls in suites().values():
        for cheat in cheats():
            if cheat.outcome == "harmless" and cheat.name in impls:
                assert cheat.compared_with in impls or cheat.neighbour_ok, cheat.name


def test_every_source_is_used_and_every_cheat_is_described():
    text = " ".join(cheat.known_from for cheat in cheats())
    assert [key for key in sources() if key not in text] == []
    assert {cheat.outcome for cheat in cheats()} == SECTIONS.keys()
    assert all(cheat.description.endswith(".") and cheat.known_from.endswith(".") for cheat in cheats())
