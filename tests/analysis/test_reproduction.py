"""Reproductions: machines are counted, never pooled; who is apart is named with what sets it apart."""

from dataclasses import replace

import pytest

from harness.analysis.reproduction import OTHER_CODE, reproductions
from harness.analysis.results import SuiteRecords
from harness.analysis.stats import FASTER, NO_INTERVAL, SAME, UNDECIDED
from harness.report import format as fmt
from harness.report.tables.reproductions_table import agreement, answer_of, sentence
from tests.records import PASSED, record_of, timing_of

MACHINES = {
    "sha256:aaaaaaaa": {"device": "cpu", "cpu": "EPYC", "cores": 8, "threads": 8, "kernel": "6.1"},
    "sha256:bbbbbbbb": {"device": "cpu", "cpu": "Xeon", "cores": 8, "threads": 8, "kernel": "6.1"},
    "sha256:cccccccc": {"device": "cpu", "cpu": "Graviton", "cores": 8, "threads": 8, "kernel": "6.2"},
    "sha256:dddddddd": {"device": "cpu", "cpu": "Atom", "cores": 2, "threads": 2, "kernel": "6.1"},
    "sha256:aaaaaaa2": {"device": "cpu", "cpu": "EPYC", "cores": 8, "threads": 8, "kernel": "6.3"},
}
A, B, C, D, UPDATED = MACHINES
SPREAD = (0.99, 0.995, 1.0, 1.0, 1.0, 1.005, 1.01, 1.0)  # a 95 % interval of ± 1 %


def run_of(name, fingerprint, *speedups, seqs=(4096, 8192), rounds=8, **more):
    """One run on a machine: an implementation that takes the baseline's time over the speedup, per length."""
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
    (found,) = reproductions(suites)
    return found


def test_most_machines_agree_and_the_other_is_named_with_what_sets_it_apart():
    found = only(*(run_of(f"r{m}", m, speedup) for m, speedup in ((A, 2.2), (B, 2.4), (C, 2.3), (D, 1.4))))
    assert [machine.fingerprint for machine in found.agreeing] == [A, B, C]
    assert agreement(found) == (
        "3 of 4 independent machines agree: faster, 2.20–2.40×; "
        "dddddddd (Atom, 2 threads), which differs in cores, cpu, threads: 1.400× [1.386, 1.414], faster"
    )
    assert found.sets_apart(found.machines[3]) == ("cores", "cpu", "threads")  # its kernel is A's, too


def test_a_range_between_vague_intervals_has_one_digit(monkeypatch):
    found = only(run_of("r1", A, 2.2), run_of("r2", B, 2.4))
    monkeypatch.setattr(fmt, "VAGUE", 1.01)
    assert agreement(found) == "both independent machines agree: faster, ≈2×"


def test_agreement_takes_the_same_verdict_and_speedups_not_shown_to_differ_by_a_quarter():
    near = only(run_of("r1", A, 2.0), run_of("r2", B, 2.53))  # with ± 1 % they may differ by 1.24
    far = only(run_of("r1", A, 2.0), run_of("r2", B, 2.6))
    assert len(near.agreeing) == 2
    assert far.agreeing == ()
    assert agreement(far).startswith(
        "of 2 independent machines no majority agrees; aaaaaaaa (EPYC, 8 threads)"
    )
    opposite = only(run_of("r1", A, 1.03), run_of("r2", B, 0.97))
    assert opposite.agreeing == ()


def test_no_estimate_is_over_two_fingerprints():
    """Not even where one run holds two: four replicates on each would give a narrower interval together."""
    mixed = suite_of([*run_of("r1", A, 2.0).records, *run_of("r1", B, 3.0).records])
    found = only(mixed)
    assert [machine.speedup.value for machine in found.machines] == pytest.approx([2.0, 3.0])
    alone = only(run_of("r1", A, 2.0)).machines[0].speedup
    assert found.machines[0].speedup == alone


def test_runs_on_one_fingerprint_are_replications_with_one_voice():
    found = only(run_of("r1", A, 2.0), run_of("r2", A, 2.1), run_of("r3", B, 2.05), run_of("r1", A, 2.0))
    first = found.machines[0]
    assert [replication.run for replication in first.replications] == ["r1", "r2"]
    assert agreement(found) == "both independent machines agree: faster, 2.05×"
    low, high = first.speedup.low, first.speedup.high
    assert low == pytest.approx(2.0 / 1.01, rel=1e-3)
    assert high == pytest.approx(2.1 / 0.99, rel=1e-3)
    # a machine that contradicts itself has no verdict
    assert only(run_of("r1", A, 2.0), run_of("r2", A, 0.8)).machines[0].verdict == UNDECIDED


def test_a_machine_after_an_update_is_another_fingerprint_and_not_independent():
    found = only(run_of("r1", A, 2.0), run_of("r2", UPDATED, 2.0), run_of("r3", B, 2.0))
    assert found.independent == 2
    assert agreement(found) == "all 3 fingerprints of 2 kinds of hardware agree: faster, 2.00×"


def test_what_does_not_count_says_why():
    other = run_of("r3", C, 2.0, source="closure:older")
    failed = run_of("r1", D, 2.0, timing=None, correctness=None, status="oom", reason="plans 32 GiB")
    found = only(run_of("r9", A, 2.0), run_of("r2", B, 2.0, rounds=3), other, failed)
    told = {m.fingerprint: (m.verdict, m.replications[0].reason) for m in found.machines}
    assert told == {
        A: (FASTER, None),
        B: (NO_INTERVAL, None),
        C: (NO_INTERVAL, OTHER_CODE),
        D: (NO_INTERVAL, "n/a (oom)"),
    }
    assert agreement(found).startswith("of 4 independent machines only one has a verdict")


def test_the_answer_is_at_the_longest_length_that_most_machines_share():
    found = reproductions([run_of("r1", A, 2.0, 3.0), run_of("r2", B, 2.0)])
    assert [(one.seq, len(one.machines)) for one in found] == [(4096, 2), (8192, 1)]
    assert (
        sentence(answer_of(found))
        == "fast against base at 4Ki: both independent machines agree: faster, 2.00×"
    )


def test_about_the_same_is_a_verdict_like_another():
    found = only(run_of("r1", A, 1.0), run_of("r2", B, 1.005))
    assert {machine.verdict for machine in found.machines} == {SAME}
    assert len(found.agreeing) == 2


def with_l2(suite, mebibytes):
    """The run on the same machines by name, which tell the size of their L2."""
    caches = {"L2": {"bytes": mebibytes << 20, "cpus": 1}}
    facts = {name: {**facts, "caches": caches} for name, facts in suite.fingerprints.items()}
    return replace(suite, fingerprints=facts)


def test_another_cache_is_named_with_both_sizes():
    runs = [with_l2(run_of(f"r{m}", m, speedup), 2) for m, speedup in ((A, 2.2), (B, 2.4), (C, 2.3))]
    found = only(*runs, with_l2(run_of("rD", D, 1.4), 1))
    assert "which differs in L2 1 MiB against 2 MiB, cores, cpu, threads: 1.400×" in agreement(found)


def test_a_machine_of_unknown_caches_is_not_set_apart_by_them():
    runs = [with_l2(run_of("r1", A, 2.2), 2), with_l2(run_of("r2", B, 2.4), 2), run_of("r3", C, 2.3)]
    found = only(*runs, with_l2(run_of("r4", D, 1.4), 1))
    assert found.sets_apart(found.machines[3]) == ("cores", "cpu", "threads")
    assert "L2" not in agreement(found)


def test_a_run_from_before_caches_were_told_is_of_the_same_machine():
    found = only(run_of("r1", A, 2.0), with_l2(run_of("r2", A, 2.1), 2), run_of("r3", B, 2.05))
    assert [len(machine.replications) for machine in found.machines] == [2, 1]
    assert found.independent == 2


def test_one_hash_with_two_sizes_of_caches_is_two_machines():
    found = only(with_l2(run_of("r1", A, 2.0), 1), with_l2(run_of("r2", A, 3.0), 2))
    assert [machine.speedup.value for machine in found.machines] == pytest.approx([2.0, 3.0])
    assert "which differs in L2 2 MiB against 1 MiB" in agreement(found)
    agreed = only(with_l2(run_of("r1", A, 2.0), 1), with_l2(run_of("r2", A, 2.0), 2))
    assert agreed.independent == 2
