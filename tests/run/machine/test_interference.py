"""Counters in a folder that stands for a machine: what they count between begin and end is known."""

import subprocess
import sys
from pathlib import Path

import pytest

from harness.run.machine import interference
from harness.run.machine.interference import (
    Interference,
    MachineCounters,
    jiffies,
    own_seconds,
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
        self.machine = MachineCounters(root / "stat", root / "cpu", frozenset({0, 1}), self.groups)

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

    def watch(self, device="cpu", now=never):
        return Interference(device, now, self.machine, lambda: UNREAD)


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def test_a_machine_that_counts_nothing_is_unknown_and_gives_no_warning(bench):
    watch = bench.watch("cuda")
    watch.look()
    assert (jiffies(bench.machine), throttles(bench.machine), watch.clocks) == (None, {}, [])
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


def test_looking_ends_where_it_takes_long(bench):
    """Every look takes 4 ms here: after four it has cost more than 1 ms a round and 10 ms once."""
    bench.clocks(3_400_000)
    ticks = iter(range(100))
    watch = bench.watch(now=lambda: next(ticks) * 4e-3)
    for _ in range(20):
        watch.look()
    assert len(watch.clocks) == 4
    assert next(ticks) == 1 + 8, "one when it begins"


def test_the_usual_places_are_this_machines(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {3, 5})
    machine = MachineCounters()
    assert (machine.stat, machine.cpus) == (Path("/proc/stat"), Path("/sys/devices/system/cpu"))
    assert machine.cores == frozenset({3, 5})


def test_what_other_programs_took_is_what_its_own_tree_did_not(monkeypatch):
    own = iter((10.0, 10.5))
    monkeypatch.setattr(interference, "own_seconds", lambda: next(own))
    monkeypatch.setattr(interference.os, "sysconf", lambda _: 100)
    now = iter((0.0, 2.0))
    counted = iter(((0, 1000), (50, 1300)))  # three seconds wanted, of which half a second was stolen
    monkeypatch.setattr(interference, "jiffies", lambda _: next(counted))
    watch = Interference("cpu", lambda: next(now))
    assert watch.other_load() == 1.0  # 2.5 s less 0.5 s in 2 s


def test_the_own_tree_counts_children_that_have_ended():
    before = own_seconds()
    subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.3: pass"], check=True)
    assert own_seconds() >= before + 0.25
