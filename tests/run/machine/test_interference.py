"""Counters in a folder that stands for a machine: what they count between begin and end is known."""

import stat
from pathlib import Path

import pytest

from harness.run.machine import interference
from harness.run.machine.interference import (
    Interference,
    MachineCounters,
    fastest,
    jiffies,
    slowdowns,
    throttles,
)

UNREAD = "no NVML here"


def never():
    return 0.0


def idle(steal=0, user=0):
    """The fields of a core: it was idle 90000 jiffies, waited 5000, and ran 1000."""
    return f"{700 + user} 100 150 90000 5000 20 30 {steal} 400 40"


class Bench:
    """A machine of folders. Cores 0 and 1 are usable, core 2 is not."""

    def __init__(self, root):
        self.root = root
        self.groups = root / "inner", root / "outer"
        self.machine = MachineCounters(
            root / "stat", root / "cpu", str(root / "smi"), frozenset({0, 1}), self.groups
        )

    def stat(self, *cores):
        lines = [f"cpu{number} {fields}" for number, fields in enumerate(cores)]
        self.machine.stat.write_text("\n".join([f"cpu  {idle()}", *lines, "intr 4 0 0", "ctxt 9", ""]))

    def quota(self, *groups):
        for folder, (used_up, periods) in zip(self.groups, groups, strict=False):
            folder.mkdir(exist_ok=True)
            text = f"nr_periods {periods}\nnr_throttled {used_up}\nthrottled_usec 12\nodd\n"
            (folder / "cpu.stat").write_text(text)

    def core(self, number, name, value):
        path = self.machine.cpus / f"cpu{number}" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")

    def clocks(self, *khz):
        for number, value in enumerate(khz):
            self.core(number, "cpufreq/scaling_cur_freq", value)

    def throttles(self, *counts):
        for number, count in enumerate(counts):
            self.core(number, "thermal_throttle/core_throttle_count", count)

    def smi(self, script):
        path = Path(self.machine.smi)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def watch(self, device="cpu", now=never):
        return Interference(device, now, self.machine, lambda: UNREAD)


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def test_a_machine_that_counts_nothing_is_unknown_and_gives_no_warning(bench):
    watch = bench.watch("cuda")
    watch.look()
    assert (jiffies(bench.machine), throttles(bench.machine), watch.clocks) == (None, {}, [])
    assert slowdowns(bench.machine.smi) is None
    assert watch.warnings() == [UNREAD]


def test_steal_is_a_share_of_the_time_the_usable_cores_were_wanted(bench):
    """176 of 200 jiffies ran and 24 were stolen; what core 2 lost, and who was idle, do not matter."""
    bench.stat(idle(), idle(steal=3), idle())
    watch = bench.watch()
    bench.stat(idle(user=76, steal=4), idle(user=100, steal=23), idle(steal=900))
    assert jiffies(bench.machine) == (27, 2000 + 176 + 27)
    (warning,) = watch.warnings()
    assert warning == (
        "the host took 12 % of the processor's time away while it was sampled (steal); "
        "measure on a quieter machine, ratios within rounds suffer less"
    )


@pytest.mark.parametrize(("ran", "stolen", "warned"), [(190, 10, False), (189, 11, True), (80, 19, False)])
def test_a_twentieth_is_nothing_and_so_is_a_share_of_little(bench, ran, stolen, warned):
    bench.stat(idle())
    watch = bench.watch()
    bench.stat(idle(user=ran, steal=stolen))
    assert bool(watch.warnings()) is warned


def test_a_kernel_without_a_steal_column_is_unknown(bench):
    bench.stat("700 100 150 90000")
    assert jiffies(bench.machine) is None


@pytest.mark.parametrize(("used_up", "periods", "share"), [(1, 20, 0), (2, 20, 10), (9, 9, 0), (20, 20, 100)])
def test_a_quota_is_told_by_the_share_of_its_periods(bench, used_up, periods, share):
    bench.quota((3, 50), (0, 0))
    watch = bench.watch()
    bench.quota((3 + used_up, 50 + periods), (0, 0))
    warning = (
        f"a CPU quota was used up in {share} % of its periods while it was sampled, "
        "and nothing ran till their ends; raise the quota, or give it fewer --threads"
    )
    assert watch.warnings() == [warning] * bool(share)


def test_throttling_counts_what_was_added_on_usable_cores(bench):
    bench.throttles(5, 1, 0)
    watch = bench.watch()
    bench.throttles(7, 2, 100)
    (warning,) = watch.warnings()
    assert warning == (
        "the processor throttled 3 times for heat while it was sampled; "
        "let it cool and measure again, ratios within rounds suffer less"
    )


@pytest.mark.parametrize(("before", "after"), [((5, 1), (5, 1)), ((5,), (0, 9))])
def test_throttling_of_long_ago_and_counters_that_start_again_are_no_warning(bench, before, after):
    bench.throttles(*before)
    watch = bench.watch()
    bench.throttles(*after)
    assert watch.warnings() == []


def test_the_clock_is_the_fastest_usable_cores_in_each_round(bench):
    watch_rounds = [(3_400_000, 800_000, 9_000_000), (800_000, 3_100_000, 0), (2_100_000, 800_000, 0)]
    bench.clocks(*watch_rounds[0])
    watch = bench.watch()
    for clocks in watch_rounds:
        bench.clocks(*clocks)
        watch.look()
    assert watch.clocks == [3_400_000, 3_100_000, 2_100_000]
    (warning,) = watch.warnings()
    assert warning == (
        "the processor's clock moved from 2.10 to 3.40 GHz while it was sampled; "
        "hold it with sudo cpupower frequency-set -g performance"
    )


@pytest.mark.parametrize(("lowest", "warned"), [(3_060_000, False), (3_059_999, True)])
def test_a_clock_within_a_tenth_is_steady(bench, lowest, warned):
    bench.clocks(3_400_000)
    watch = bench.watch()
    watch.look()
    bench.clocks(lowest)
    watch.look()
    assert bool(watch.warnings()) is warned


def test_a_clock_that_cannot_be_read_is_left_out(bench):
    bench.clocks("<unknown>", 2_000_000)
    assert fastest(bench.watch().clock_files) == 2_000_000
    bench.clocks("<unknown>", "<unknown>")
    assert fastest(bench.watch().clock_files) is None


def test_looking_ends_where_it_takes_long(bench):
    """Every look takes 4 ms here: after four it has cost more than 1 ms a round and 10 ms once."""
    bench.clocks(3_400_000)
    ticks = iter(range(100))
    watch = bench.watch(now=lambda: next(ticks) * 4e-3)
    for _ in range(20):
        watch.look()
    assert len(watch.clocks) == 4
    assert next(ticks) == 8


REASONS = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x60: "heat",
    0x2C: "power cap, hardware slowdown, heat",
}


@pytest.mark.parametrize(("bits", "why"), REASONS.items())
def test_a_gpu_that_holds_its_clock_back_says_why(bench, bits, why):
    bench.smi(f"echo 0x{bits:016x}")
    assert slowdowns(bench.machine.smi) == bits
    unread, warning = bench.watch("cuda").warnings()
    assert unread == UNREAD
    assert warning == (
        f"the GPU held its clock back when sampling ended ({why}); "
        "cool it, raise its power limit, or lock its clock with nvidia-smi --lock-gpu-clocks"
    )


@pytest.mark.parametrize("bits", ["0x0000000000000001", "0x0000000000000112"], ids=["idle", "set by hand"])
def test_a_clock_that_nothing_holds_back_is_no_warning(bench, bits):
    bench.smi(f"echo {bits}")
    assert slowdowns(bench.machine.smi) == int(bits, 16)
    assert bench.watch("cuda").warnings() == [UNREAD]


def test_an_older_driver_is_asked_in_its_own_words(bench):
    older = 'case "$1" in *throttle*) echo 0x40;; *) echo \'Field "…" is not a valid field.\'; exit 2;; esac'
    bench.smi(older)
    assert slowdowns(bench.machine.smi) == 0x40


def test_the_first_visible_gpu_is_asked(bench, monkeypatch):
    bench.smi('test "$3" = --id=2 && echo 0x8 || echo 0x0')
    assert slowdowns(bench.machine.smi) == 0
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    assert slowdowns(bench.machine.smi) == 0x8


@pytest.mark.parametrize("script", ["echo '[N/A]'", "exit 9", "exec sleep 60"], ids=["n/a", "fails", "hangs"])
def test_a_gpu_that_does_not_tell_is_unknown(bench, script, monkeypatch):
    monkeypatch.setattr(interference, "SMI_SECONDS", 0.0 if "sleep" in script else 30.0)
    bench.smi(script)
    assert slowdowns(bench.machine.smi) is None


def test_without_a_gpu_in_use_none_is_asked(bench):
    bench.smi(f"touch {bench.root / 'asked'}; echo 0x8")
    assert bench.watch("cpu").warnings() == []
    assert not (bench.root / "asked").exists()


def test_the_usual_places_are_this_machines(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {3, 5})
    machine = MachineCounters()
    assert (machine.stat, machine.cpus) == (Path("/proc/stat"), Path("/sys/devices/system/cpu"))
    assert (machine.smi, machine.cores) == ("nvidia-smi", frozenset({3, 5}))
