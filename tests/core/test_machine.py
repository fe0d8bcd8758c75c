import pytest

from harness.core import machine
from harness.core.errors import MachineError
from harness.core.machine import DataCache, Processor, caches, data_caches, processor, usable_memory


def group(root, membership, line, *limits):
    membership.write_text(line)
    for path, text in limits:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return machine.control_group_limit(root, membership)


V2 = [("user/run/memory.max", "max\n"), ("user/memory.max", "3000\n"), ("memory.max", "9000\n")]


@pytest.mark.parametrize(
    ("line", "limits", "limit"),
    [
        ("0::/user/run\n", V2, 3000),  # the tightest upward
        ("5:cpu,cpuacct:/x\n4:memory:/job\n", [("memory/job/memory.limit_in_bytes", "4096\n")], 4096),
        ("0::/docker/abc\n", [("memory.max", "5000\n")], 5000),  # outside the mounted tree
    ],
)
def test_a_control_group_bounds_memory(tmp_path, line, limits, limit):
    assert group(tmp_path / "sys", tmp_path / "self", line, *limits) == limit
    assert machine.control_group_limit(tmp_path / "sys", tmp_path / "none") is None


def test_the_lower_of_memory_and_limit_counts(monkeypatch):
    monkeypatch.setattr(machine, "control_group_limit", lambda: 12345)
    assert usable_memory() == 12345
    monkeypatch.setattr(machine, "control_group_limit", lambda: 2**62)
    assert 12345 < usable_memory() < 2**62


def test_a_processor_is_the_first_that_the_kernel_lists(tmp_path):
    listed = tmp_path / "cpuinfo"
    listed.write_text(
        "processor\t: 0\nmodel name\t: EPYC: 9\nflags\t\t: sse avx2 avx\n\nprocessor\t: 1\nmodel name\t: B\n"
    )
    assert processor(listed) == Processor("EPYC: 9", ("avx", "avx2", "sse"))


def test_an_arm_processor_has_features_and_no_name(tmp_path, monkeypatch):
    monkeypatch.setattr(machine.platform, "processor", lambda: "aarch64")
    listed = tmp_path / "cpuinfo"
    listed.write_text("processor\t: 0\nFeatures\t: sve asimd\nCPU part\t: 0xd40\n")
    assert processor(listed) == Processor("aarch64", ("asimd", "sve"))
    assert processor(tmp_path / "none") == Processor("aarch64", ())


def test_missing_proc_is_one_sentence(tmp_path):
    with pytest.raises(MachineError, match=r"meminfo cannot be read, .*; mount /proc$"):
        usable_memory(tmp_path / "meminfo")


def test_caches_of_the_used_cores_and_a_shared_one_counts_once(tmp_path):
    for core in (0, 1):
        for index, (level, kind, size, shared) in enumerate(
            [
                ("1", "Data", "32K", str(core)),
                ("1", "Instruction", "32K", str(core)),
                ("3", "Unified", "8M", "0-1"),
            ]
        ):
            folder = tmp_path / f"cpu{core}/cache/index{index}"
            folder.mkdir(parents=True)
            for name, text in (("level", level), ("type", kind), ("size", size), ("shared_cpu_list", shared)):
                (folder / name).write_text(f"{text}\n")
    assert caches([0, 1], tmp_path) == {"L1": 2 << 15, "L3": 8 << 20}
    assert caches([0], tmp_path) == {"L1": 1 << 15, "L3": 8 << 20}
    assert caches([7], tmp_path) == {}
    first, third = data_caches(1, tmp_path)
    assert (first, third) == (
        DataCache(1, 1 << 15, is_unified=False, shared_by=frozenset([1])),
        DataCache(3, 8 << 20, is_unified=True, shared_by=frozenset([0, 1])),
    )
