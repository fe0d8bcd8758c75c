"""A Δ below 5 % is taken where the machine is known to hold it, and refused with the reason elsewhere."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from harness.core.errors import MachineError, UsageError
from harness.gate.noise import measure
from harness.gate.noise import store as stored

HERE = {"cpu": "x", "cores": 2, "memory_gib": 24, "kernel": "6"}


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "identity", lambda _: HERE)
    return tmp_path


def known(tmp_path, holds, machine=None):
    cases = [{"case": "mask/scatter@seq=1:fwd:cpu", "spread": 0.021}]
    regimes = [{"regime": "alone", "holds": holds, "cases": cases}]
    stored.write(tmp_path, {"machine": machine or HERE, "regimes": regimes})


def test_five_percent_needs_no_knowledge(results):
    measure.refuse_below(results, 0.05, 1)


def test_less_is_refused_where_nothing_is_known(results):
    with pytest.raises(UsageError, match=r"3 % needs a quiet machine.*doctor --noise"):
        measure.refuse_below(results, 0.03, 1)


def test_the_noise_of_another_machine_is_no_knowledge(results, tmp_path):
    known(tmp_path, 0.01, machine={**HERE, "cores": 64})
    with pytest.raises(UsageError, match="not known"):
        measure.refuse_below(results, 0.03, 1)


def test_less_is_refused_with_the_spread_that_forbids_it(results, tmp_path):
    known(tmp_path, 0.07)
    with pytest.raises(UsageError, match=r"spread by 2\.1 % \(mask/scatter\), so that 12 pairs hold 7 %"):
        measure.refuse_below(results, 0.03, 1)


def test_a_machine_that_holds_nothing_says_so(results, tmp_path):
    known(tmp_path, None)
    with pytest.raises(UsageError, match="no slowdown up to 50 %"):
        measure.refuse_below(results, 0.03, 1)


def test_less_is_taken_where_it_can_be_held(results, tmp_path):
    known(tmp_path, 0.02)
    measure.refuse_below(results, 0.03, 1)


def test_a_machine_too_busy_for_any_case_is_told_so(results, monkeypatch):
    monkeypatch.setattr(measure, "plan_of", lambda *_: nullcontext(SimpleNamespace(opponents={})))
    monkeypatch.setattr(measure, "device_lock", lambda *_: nullcontext())
    monkeypatch.setattr(measure, "_regime", lambda name, *_: measure.Regime(name, (), 1.0))
    progress = SimpleNamespace(message=lambda _: None)
    with pytest.raises(MachineError, match="no case had all its pairs in 120 s"):
        measure.measure(SimpleNamespace(results=results), measure.noise_options(), progress)
    assert stored.read(results) is None


def test_a_damaged_file_says_how_to_make_another(results, tmp_path):
    (tmp_path / "noise.json").write_text("{")
    with pytest.raises(UsageError, match="doctor --noise"):
        measure.refuse_below(results, 0.03, 1)
