import dataclasses

import pytest

from harness.core.errors import UsageError
from harness.core.machine import usable_cores, usable_memory
from harness.sweep.settings import Accept, GateMargins, Settings, why_accepted

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
        ("budget", "0s", "budget: must be more than 0"),
        ("memory", "150%", "memory: .* is not between 0 % and 100 %"),
        ("threads", "1.5", "threads: .* is not a whole number"),
        ("seed", "1e30", "seed: must fit in 63 bits"),
    ],
)
def test_invalid_settings_are_refused(name, value, message):
    with pytest.raises(UsageError, match=f"^{message}"):
        Settings().with_overrides({name: value})


def test_shared_cases_get_the_more_generous_limits():
    short = Settings(1.0, 90.0, 2 * GIB, 2, 0.05, 0)
    long = Settings(4.0, 60.0, GIB, 2, 0.01, 0)
    assert short.shared_with(long) == long.shared_with(short) == Settings(4.0, 90.0, 2 * GIB, 2, 0.01, 0)


@pytest.mark.parametrize("name", ["threads", "seed"])
def test_settings_that_change_figures_must_agree(name):
    settings = Settings(threads=1)
    other = dataclasses.replace(settings, **{name: 5})
    with pytest.raises(ValueError, match=name):
        settings.shared_with(other)


CASE = "mask/scatter@batch=1,seq=4096:fwd:cpu"
STAGED = "topk/two_stage[buckets=64,keep=2]@batch=1,seq=4096:fwd:cpu"

WHOLE = """\
suites:
  mask:
    family: mask
    delta: 5%
    accept:
      mask/scatter@*: a rewrite that trades bytes for time
      "topk/two_stage[buckets=64,keep=2]@*":
        temp_bytes: keeps both stages
        time: is slower for it
  plain: {family: mask}
"""


def test_gate_margins_of_a_suite(bench):
    suites = bench(WHOLE).suites
    staged = "topk/two_stage[buckets=64,keep=2]@*"
    assert suites["mask"].gate == GateMargins(
        0.05,
        (
            Accept("bench.yaml:6", "mask/scatter@*", None, "a rewrite that trades bytes for time"),
            Accept("bench.yaml:8", staged, "temp_bytes", "keeps both stages"),
            Accept("bench.yaml:9", staged, "time", "is slower for it"),
        ),
    )
    assert suites["plain"].gate == GateMargins()


def test_which_figures_are_accepted(bench):
    accepts = bench(WHOLE).suites["mask"].gate.accept
    assert why_accepted(CASE, "flops", accepts) == "a rewrite that trades bytes for time"
    assert why_accepted(STAGED, "temp_bytes", accepts) == "keeps both stages"
    assert why_accepted(STAGED, "flops", accepts) is None
    assert why_accepted(CASE.replace("scatter", "gather"), "flops", accepts) is None


def test_specific_accept_reason_precedes_a_general_one():
    blanket = Accept("x", "*", None, "all")
    own = [blanket, Accept("x", CASE, "flops", "its own"), Accept("x", CASE, "case", "it moved")]
    answers = [why_accepted(CASE, figure, own) for figure in ("flops", "time", "case")]
    assert answers == ["its own", "all", "it moved"]
    assert why_accepted(CASE, "case", (blanket,)) is None
