import dataclasses

import pytest

from harness.core.errors import UsageError
from harness.core.machine import usable_cores, usable_memory
from harness.sweep.settings import Settings

GIB = 2**30


def test_units_of_every_setting():
    given = {"budget": "250ms", "timeout": "2m", "memory": "2GiB", "threads": "1", "precision": "2.5%"}
    settings = Settings().with_overrides({**given, "seed": "7"})
    assert settings == Settings(0.25, 120.0, 2 * GIB, 1, 0.025, 7)


def test_defaults_follow_the_machine():
    settings = Settings()
    assert settings.memory_bytes == int(usable_memory() * 0.75)
    assert settings.threads == usable_cores() >= 1
    rest = settings.budget_s, settings.timeout_s, settings.precision, settings.seed
    assert rest == (4.0, 60.0, 0.05, 0), "and the rest do not"


def test_memory_as_a_share(monkeypatch):
    monkeypatch.setattr("harness.sweep.settings.usable_memory", lambda: 8 * GIB)
    assert Settings().memory_bytes == 6 * GIB
    assert Settings().with_overrides({"memory": "50 %"}).memory_bytes == 4 * GIB


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("budgett", "4s", 'unknown setting "budgett"; nearest: "budget"'),
        ("budget", "4 parsecs", 'budget: unknown unit "parsecs"'),
        ("budget", "0s", "budget: must be more than 0"),
        ("budget", "1e999s", "budget: .* is too large"),
        ("timeout", "soon", 'timeout: "soon" is not a quantity'),
        ("memory", "75GHz", 'memory: unknown unit "GHz"'),
        ("memory", "150%", "memory: .* is not between 0 % and 100 %"),
        ("memory", "0", "memory: must be more than 0"),
        ("threads", "0", "threads: must be more than 0"),
        ("threads", "1.5", "threads: .* is not a whole number"),
        ("threads", "1e999", "threads: .* is too large"),
        ("precision", "0", "precision: .* is not between"),
        ("seed", "-1", 'seed: "-1" is not a quantity'),
        ("seed", "1e30", "seed: must fit in 63 bits"),
    ],
)
def test_values_that_make_no_sense(name, value, message):
    with pytest.raises(UsageError, match=f"^{message}"):
        Settings().with_overrides({name: value})


def test_shared_cases_get_the_more_generous_limits():
    short = Settings(1.0, 90.0, 2 * GIB, 2, 0.05, 0)
    long = Settings(4.0, 60.0, GIB, 2, 0.01, 0)
    assert short.shared_with(long) == long.shared_with(short) == Settings(4.0, 90.0, 2 * GIB, 2, 0.01, 0)


@pytest.mark.parametrize("name", ["threads", "seed"])
def test_what_changes_the_figures_must_agree(name):
    settings = Settings(threads=1)
    other = dataclasses.replace(settings, **{name: 5})
    with pytest.raises(ValueError, match=name):
        settings.shared_with(other)
