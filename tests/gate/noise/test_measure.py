"""A Δ below 5 % is taken where the machine is known to hold it, and refused with the reason elsewhere."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from harness.core.errors import MachineError, UsageError
from harness.gate.noise import measure
from harness.store import json_file

HERE = {"cpu": "x", "cores": 2, "memory_gib": 24, "kernel": "6"}


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "identity", lambda: HERE)
    return tmp_path


def known(tmp_path, holds, **machine):
    cases = [{"case": "mask/scatter@seq=1:fwd:cpu", "spread": 0.021}]
    regimes = [{"regime": "alone", "holds": holds, "cases": cases}]
    noise = {"machine": HERE | machine, "regimes": regimes}
    (tmp_path / measure.FILE).write_bytes(json_file.to_text(noise))


def test_less_is_refused_where_nothing_is_known(results):
    with pytest.raises(UsageError, match=r"3 % needs a quiet machine.*doctor --noise"):
        measure.refuse_below(results, 0.03)


@pytest.mark.parametrize(
    ("holds", "machine", "says"),
    [
        (0.01, {"cores": 64}, "not known"),
        (0.07, {}, r"spread by 2\.1 % \(mask/scatter\), so that 12 pairs hold 7 %"),
        (None, {}, "no slowdown up to 50 %"),
    ],
)
def test_less_is_refused_with_what_forbids_it(results, holds, machine, says):
    known(results, holds, **machine)
    with pytest.raises(UsageError, match=says):
        measure.refuse_below(results, 0.03)


def test_less_is_taken_where_it_can_be_held_and_five_percent_everywhere(results):
    measure.refuse_below(results, 0.05)
    known(results, 0.02)
    measure.refuse_below(results, 0.03)


def test_a_machine_too_busy_for_any_case_is_told_so(results, monkeypatch):
    monkeypatch.setattr(measure, "plan_of", lambda *_: nullcontext(SimpleNamespace(opponents={})))
    monkeypatch.setattr(measure, "device_lock", lambda *_: nullcontext())
    monkeypatch.setattr(measure, "_regime", lambda name, *_: measure.Regime(name, (), 1.0))
    progress = SimpleNamespace(message=lambda _: None)
    with pytest.raises(MachineError, match="no case had all its pairs in 120 s"):
        measure.measure(SimpleNamespace(results=results), measure.noise_options(), progress)
    assert not (results / measure.FILE).exists()


def test_a_damaged_file_says_how_to_make_another(results, tmp_path):
    (tmp_path / "noise.json").write_text("{")
    with pytest.raises(UsageError, match="doctor --noise"):
        measure.refuse_below(results, 0.03)
