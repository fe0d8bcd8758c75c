"""What is missing here, with the command that mends it."""

from typing import Any

import pytest

from harness.run import doctor
from harness.run.doctor import examine

FACTS: dict[str, Any] = {
    "fingerprint": {"cpu": "EPYC", "cores": 2, "governor": None},
    "environment": {"available_bytes": 2**50, "load": [0.1, 0.2, 0.3]},
    "gpu": {"unavailable": "no nvidia-smi"},
}
INSTALLED = {"torch": "2.13.0", "jax": "0.10.2", "jaxlib": "0.10.2", "numpy": "2.4", "ml_dtypes": "0.6.0"}


@pytest.fixture
def examine_machine(tmp_path, monkeypatch):
    def look(results=tmp_path, installed=INSTALLED, **facts):
        monkeypatch.setattr(doctor, "probe_fingerprint", lambda *_: {**FACTS, **facts})
        monkeypatch.setattr(doctor, "version_of", installed.get)
        return {finding.what: finding for finding in examine(results)}

    return look


def test_ready_machine_has_no_problems(examine_machine):
    findings = examine_machine()
    assert [f.what for f in findings.values() if f.state == "problem"] == []
    assert findings["torch"].says == "2.13.0"
    assert findings["libtpu"].state == "optional"
    assert findings["libtpu"].remedy == "pip install libtpu"
    assert findings["triton"].says == "not installed; needed for kernels in Triton"
    assert findings["cuda"].state == "optional"
    lacking = examine_machine(installed={})["jaxlib"]
    assert (lacking.state, lacking.remedy) == ("optional", "pip install 'seqsweep[jax]'")
    assert lacking.says == "not installed; needed for the implementations that use it"


@pytest.mark.parametrize(
    ("what", "changed", "says", "remedy"),
    [
        ("memory", {"environment": {"available_bytes": 0, "load": [0.1]}}, "available now 0 B", "--memory"),
        ("load", {"environment": {"available_bytes": 2**50, "load": [3.0]}}, "load average 3.0", "end other"),
        (
            "governor",
            {"fingerprint": {"cpu": "EPYC", "cores": 2, "governor": "powersave"}},
            "powersave",
            "cpupower",
        ),
    ],
)
def test_a_problem_comes_with_its_remedy(examine_machine, what, changed, says, remedy):
    finding = examine_machine(**changed)[what]
    assert finding.state == "problem"
    assert says in finding.says
    assert remedy in finding.remedy
