"""The largest length that runs, for real: processes of numpy's under a small limit of their memory."""

import os
from pathlib import Path

import pytest

from harness.catalog import discovery
from harness.core.case import Case
from harness.run.group.run_context import Provenance, RunContext
from harness.run.measured_max_seq import LengthTrials
from harness.sweep.schedule import Group
from harness.sweep.settings import Settings
from tests.run.fakes import Heard

MIB = 2**20
WORKLOAD = {"batch": 1, "rows": 64, "topk": 8, "recall": 1.0, "distribution": "iid", "dtype": "f32"}


@pytest.fixture
def trials(lab):
    provenance = Provenance("20261120T113000Z-1a2b3c4", "sha256:f", "sha256:e", 0)
    context = RunContext(lab.executor, discovery.catalog(), provenance, Heard(), lab.executor.folder)
    return LengthTrials(lab.executor, context)


def case_at(seq):
    return Case.of("topk/partition", {}, {**WORKLOAD, "seq": seq}, "fwd")


def group_of(case, memory_bytes):
    settings = Settings(
        budget_s=1.0, timeout_s=60.0, memory_bytes=memory_bytes, threads=1, precision=0.05, seed=0
    )
    return Group(case.group, (case,), {}, settings)


def test_a_search_ends_where_memory_does(trials):
    case = case_at(1 << 17)
    search, tried = trials.search([case], group_of(case, 128 * MIB))
    assert search.reason is None
    assert search.seq < search.beyond
    assert search.beyond - search.seq <= (1 << (search.seq.bit_length() - 1)) // 16
    inputs = 64 * 4 * search.seq
    (largest,) = [trial for trial in tried if trial.seq == search.seq]
    assert largest.by == "resident"
    assert inputs < largest.peak_bytes, "the scores at least"
    # Pages of files that are read for the first time are in the peak, and in no limit.
    assert largest.peak_bytes < 128 * MIB + largest.outside_bytes
    assert largest.outside_bytes > 10 * MIB, "an interpreter and numpy"
    assert {trial.fits for trial in tried if trial.seq >= search.beyond} == {False}
    assert not trials.folder.exists()


def test_a_process_has_ended_when_its_memory_is_said_to_be_free(lab, tmp_path):
    worker = lab.spawn("trial", "numpy", "topk/partition", "impls.topk.exact.partition", tmp_path)
    assert Path(f"/proc/{worker.pid}").exists()
    worker.close_and_wait()
    with pytest.raises(ProcessLookupError):
        os.kill(worker.pid, 0)
