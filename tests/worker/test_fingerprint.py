import json
import sys
from types import SimpleNamespace

import psutil
import pytest

from harness.core.version import version_of
from harness.worker import fingerprint as fingerprint_module

CODE = """
import runpy, sys
sys.argv = ["conditions", "cpu", "2"]
runpy.run_module("harness.worker.fingerprint", run_name="__main__")
print()
print([name for name in ("torch", "jax", "numpy") if name in sys.modules])
"""


@pytest.fixture(scope="module")
def lines(printed):
    return printed(CODE)


@pytest.fixture(scope="module")
def facts(lines):
    return json.loads(lines[0])


def test_no_framework_is_loaded_for_its_version(lines):
    assert lines[1] == "[]"


def test_a_fingerprint_holds_what_must_be_equal(facts):
    fingerprint = facts["fingerprint"]
    assert (fingerprint["device"], fingerprint["threads"]) == ("cpu", 2)
    assert fingerprint["cores"] == len(psutil.Process().cpu_affinity())
    assert list(fingerprint["versions"]) == ["torch", "jax", "jaxlib", "libtpu", "numpy", "ml_dtypes"]
    assert fingerprint["versions"]["numpy"] == version_of("numpy")
    assert {"cpu", "governor", "kernel", "python", "flags", "memory_gib"} <= set(fingerprint)
    assert "gpu" not in fingerprint


def test_an_environment_holds_what_was_only_so(facts):
    assert {"time", "load", "available_bytes", "git", "steal_s"} == set(facts["environment"])
    assert not set(facts["environment"]) & set(facts["fingerprint"])


def test_the_same_machine_has_the_same_fingerprint(facts):
    assert json.loads(json.dumps(fingerprint_module.fingerprint("cpu", 2))) == facts["fingerprint"]


def test_flags_that_change_programs_are_part_of_it(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    flags = fingerprint_module.fingerprint("cpu", 1)["flags"]
    assert flags["XLA_FLAGS"] == "--xla_cpu_enable_fast_math=true"
    assert "OMP_NUM_THREADS" not in flags


def test_caches_stand_in_bytes_with_the_cores_that_share_them(tmp_path):
    core = min(psutil.Process().cpu_affinity())
    files = [("1", "Data", "48K", f"{core}"), ("1", "Instruction", "32K", f"{core}")]
    files += [("2", "Unified", "2048K", f"{core},{core + 64}"), ("3", "Unified", "96M", "0-15,64-79")]
    for index, texts in enumerate(files):
        folder = tmp_path / f"cpu{core}/cache/index{index}"
        folder.mkdir(parents=True)
        for name, text in zip(("level", "type", "size", "shared_cpu_list"), texts, strict=True):
            (folder / name).write_text(f"{text}\n")
    assert fingerprint_module.host_caches(tmp_path) == {
        "L1d": {"bytes": 48 << 10, "cpus": 1},
        "L2": {"bytes": 2 << 20, "cpus": 2},
        "L3": {"bytes": 96 << 20, "cpus": 32},
    }
    assert fingerprint_module.host_caches(tmp_path / "none") == {
        "unavailable": f"{tmp_path / 'none'} describes no cache"
    }


def test_a_gpus_cache_is_torchs_figure_or_the_reason_why_there_is_none(monkeypatch):
    def torch_with(properties):
        return SimpleNamespace(cuda=SimpleNamespace(get_device_properties=properties))

    monkeypatch.setitem(sys.modules, "torch", torch_with(lambda _: SimpleNamespace(L2_cache_size=50 << 20)))
    assert fingerprint_module.fingerprint("cuda", 1)["caches"]["GPU L2"] == {"bytes": 50 << 20}
    monkeypatch.setitem(sys.modules, "torch", torch_with(lambda _: SimpleNamespace()))
    assert "L2_cache_size" in fingerprint_module.gpu_cache()["unavailable"]
    assert "GPU L2" not in fingerprint_module.fingerprint("cpu", 1)["caches"]


def test_a_package_that_is_not_installed_has_no_version():
    assert version_of("no-such-package") is None


def test_a_gpu_is_described_as_nvidia_smi_does(monkeypatch, tmp_path):
    program = tmp_path / "nvidia-smi"
    program.write_text(
        '#!/bin/sh\necho "H200, 570.1, 143771 MiB, 1980 MHz, 700.00 W"\necho "$@" >>"$0.log"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,4")
    clocks = {"clocks.max.sm": "1980 MHz", "power.limit": "700.00 W"}
    h200 = {"name": "H200", "driver_version": "570.1", "memory.total": "143771 MiB", **clocks}
    assert fingerprint_module.gpu() == h200
    assert "--id=3" in (tmp_path / "nvidia-smi.log").read_text()


def test_no_gpu_is_a_reason(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "nvidia-smi" in fingerprint_module.gpu()["unavailable"]
    assert fingerprint_module.git() is None
