import json
import sys
from types import SimpleNamespace

import psutil
import pytest

from harness.core.version import version_of
from harness.store.stored_run import fingerprint_id
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


def test_versions_are_read_without_importing_frameworks(lines):
    assert lines[1] == "[]"


def test_a_fingerprint_contains_the_facts_that_must_be_equal(facts):
    fingerprint = facts["fingerprint"]
    assert (fingerprint["device"], fingerprint["threads"]) == ("cpu", 2)
    assert fingerprint["cores"] == len(psutil.Process().cpu_affinity())
    assert list(fingerprint["versions"]) == ["torch", "jax", "jaxlib", "libtpu", "numpy", "ml_dtypes"]
    assert fingerprint["versions"]["numpy"] == version_of("numpy")
    assert {"cpu", "governor", "kernel", "python", "flags", "memory_gib"} <= set(fingerprint)
    assert "gpu" not in fingerprint


def test_flags_that_change_programs_are_part_of_it(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    flags = fingerprint_module.fingerprint("cpu", 1)["flags"]
    assert flags["XLA_FLAGS"] == "--xla_cpu_enable_fast_math=true"
    assert "OMP_NUM_THREADS" not in flags


def test_caches_have_bytes_and_the_number_of_sharing_cores(tmp_path):
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
        "unavailable": f"{tmp_path / 'none'} lists no caches"
    }


def test_a_gpus_cache_is_torchs_figure_or_a_reason(monkeypatch):
    def torch_with(properties):
        return SimpleNamespace(cuda=SimpleNamespace(get_device_properties=properties))

    monkeypatch.setitem(sys.modules, "torch", torch_with(lambda _: SimpleNamespace(L2_cache_size=50 << 20)))
    assert fingerprint_module.fingerprint("cuda", 1)["caches"]["GPU L2"] == {"bytes": 50 << 20}
    monkeypatch.setitem(sys.modules, "torch", torch_with(lambda _: SimpleNamespace()))
    assert "L2_cache_size" in fingerprint_module.gpu_cache()["unavailable"]
    assert "GPU L2" not in fingerprint_module.fingerprint("cpu", 1)["caches"]


H100 = {
    "name": "NVIDIA H100 80GB HBM3",
    "driver_version": "570.1",
    "memory.total": "81559 MiB",
    "clocks.max.sm": "1980 MHz",
    "power.limit": "700.00 W",
}


@pytest.fixture
def smi(monkeypatch, tmp_path):
    """A fake nvidia-smi that knows one GPU, by index and UUID."""
    for name in ("0", "GPU-1a2b3c4d-0000"):
        (tmp_path / name).write_text(", ".join(H100.values()))
    program = tmp_path / "nvidia-smi"
    program.write_text(f'#!/bin/sh\ncd {tmp_path}\nexec cat "${{3#--id=}}"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    def first(visible):
        if visible is None:
            monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        else:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        return fingerprint_module.gpu()

    return first


@pytest.mark.parametrize("visible", [None, "0", "0,1", "GPU-1a2b3c4d-0000"])
def test_a_gpu_is_described_by_nvidia_smi(smi, visible):
    assert smi(visible) == H100


@pytest.mark.parametrize("visible", ["2", "GPU-1a2b", "MIG-77777777-0000"])
def test_a_gpu_unknown_to_nvidia_smi_is_reported(smi, visible):
    assert f"--id={visible}" in smi(visible)["unavailable"]


@pytest.mark.parametrize("hidden", ["", "-1", "NoDevFiles", ",0"])
def test_a_hidden_gpu_is_unavailable(smi, hidden):
    assert smi(hidden) == {"unavailable": "CUDA_VISIBLE_DEVICES hides every GPU"}


def jax_with(devices):
    return SimpleNamespace(config=SimpleNamespace(update=lambda *_: None), devices=devices)


def test_a_fingerprint_contains_the_tpus_kind(monkeypatch):
    kinds = []
    for kind in ("TPU v5 lite", "TPU v6 lite"):
        monkeypatch.setitem(
            sys.modules, "jax", jax_with(lambda _, kind=kind: [SimpleNamespace(device_kind=kind)])
        )
        kinds.append(fingerprint_module.fingerprint("tpu", 1))
    assert [facts["tpu"] for facts in kinds] == [{"name": "TPU v5 lite"}, {"name": "TPU v6 lite"}]
    assert len({fingerprint_id(facts) for facts in kinds}) == 2
    assert "tpu" not in fingerprint_module.fingerprint("cpu", 1)


def test_tritons_version_is_recorded_only_for_gpus(monkeypatch):
    monkeypatch.setattr(fingerprint_module, "version_of", lambda name: "1")
    monkeypatch.setattr(fingerprint_module, "gpu_cache", dict)
    assert fingerprint_module.fingerprint("cuda", 1)["versions"]["triton"] == "1"
    for device in ("cpu", "tpu"):
        monkeypatch.setattr(fingerprint_module, "tpu", dict)
        assert "triton" not in fingerprint_module.fingerprint(device, 1)["versions"]


def test_a_missing_gpu_has_a_reason(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert "nvidia-smi" in fingerprint_module.gpu()["unavailable"]
    assert fingerprint_module.git() is None
