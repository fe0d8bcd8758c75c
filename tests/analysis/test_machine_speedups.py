"""Speedups by machine: the newest run of each, never pooled."""

import pytest

from harness.analysis.machine_speedups import OTHER_CODE, machine_speedups
from harness.analysis.results import SuiteRecords
from harness.analysis.stats import FASTER, NO_INTERVAL
from tests.records import PASSED, record_of, timing_of

MACHINES = {
    "sha256:aaaaaaaa": {"device": "cpu", "cpu": "EPYC", "cores": 8, "threads": 8, "kernel": "6.1"},
    "sha256:bbbbbbbb": {"device": "cpu", "cpu": "Xeon", "cores": 8, "threads": 8, "kernel": "6.1"},
    "sha256:cccccccc": {"device": "cpu", "cpu": "Graviton", "cores": 8, "threads": 8, "kernel": "6.2"},
    "sha256:dddddddd": {"device": "cpu", "cpu": "Atom", "cores": 2, "threads": 2, "kernel": "6.1"},
}
A, B, C, D = MACHINES
SPREAD = (0.99, 0.995, 1.0, 1.0, 1.0, 1.005, 1.01, 1.0)  # a 95 % interval of ± 1 %


def run_of(name, fingerprint, *speedups, seqs=(4096, 8192), rounds=8, **more):
    """One run on a machine with these speedups by length."""
    records = []
    for seq, speedup in zip(seqs, speedups, strict=False):
        for label, seconds, source in (("base", 1.0, "closure:1"), ("fast", 1 / speedup, "closure:2")):
            samples = [seconds * (wobble if label == "fast" else 1.0) for wobble in SPREAD[:rounds]]
            values = {"source": source, "timing": timing_of(samples), "correctness": PASSED}
            if label == "fast":
                values |= more
            records.append(record_of(label, seq, run=name, fingerprint=fingerprint, **values))
    return suite_of(records)


def suite_of(records):
    facts = {record.fingerprint: MACHINES[record.fingerprint] for record in records}
    names = ("mask/base", "mask/fast")
    return SuiteRecords("mask", "mask", "mask/base", names, tuple(records), fingerprints=facts)


def only(*suites):
    (found,) = machine_speedups(suites)
    return found


def test_estimates_never_combine_two_fingerprints():
    """Also if one run has two fingerprints: their replicates together would give a narrower interval."""
    mixed = suite_of([*run_of("r1", A, 2.0).records, *run_of("r1", B, 3.0).records])
    found = only(mixed)
    assert [machine.speedup.value for machine in found.machines] == pytest.approx([2.0, 3.0])
    alone = only(run_of("r1", A, 2.0)).machines[0].speedup
    assert found.machines[0].speedup == alone


def test_the_newest_run_of_a_machine_counts():
    runs = [run_of("r2", A, 2.1), run_of("r1", A, 2.0), run_of("r3", B, 2.05)]
    for order in (runs, runs[::-1]):
        assert [(m.run, m.fingerprint) for m in only(*order).machines] == [("r2", A), ("r3", B)]


def test_an_excluded_machine_has_a_reason():
    other = run_of("r3", C, 2.0, source="closure:older")
    failed = run_of("r1", D, 2.0, timing=None, correctness=None, status="oom", reason="plans 32 GiB")
    found = only(run_of("r9", A, 2.0), run_of("r2", B, 2.0, rounds=3), other, failed)
    told = {m.fingerprint: (m.verdict, m.reason) for m in found.machines}
    assert told == {
        A: (FASTER, None),
        B: (NO_INTERVAL, None),
        C: (NO_INTERVAL, OTHER_CODE),
        D: (NO_INTERVAL, "n/a (oom)"),
    }
    assert [m.speedup.value is None for m in found.machines] == [True, False, True, False]
