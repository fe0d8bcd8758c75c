"""Stored runs built by hand: two of one suite, every figure of them chosen."""

import errno
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.analysis.results import label_of
from harness.core.record import Cost, Memory, Record
from harness.store.runs import RunFolder
from tests.records import PASSED, record_of, static_of, timing_of

RUNS = ("20261120T113000Z-aaaaaaa", "20261121T113000Z-bbbbbbb")
FACTS = {"device": "cpu", "cpu": "Known Processor", "threads": 2}


def store(
    results: Path,
    run: str,
    records: Sequence[Record],
    baseline: str = "mask/base",
    facts: Mapping[str, Any] = FACTS,
    commit: str = "0123456789",
    interleaved: str = "",
) -> RunFolder:
    """A run of these records, as one suite, on a machine of these facts."""
    suite = {
        "family": records[0].family,
        "baseline": baseline,
        "implementations": list(dict.fromkeys(label_of(record) for record in records)),
        "cases": list(dict.fromkeys(record.case for record in records)),
        "interleaved": interleaved,
    }
    folder = RunFolder.create(results, run, {"suites": {"mask": suite}})
    keys = {
        "fingerprint": folder.write_fingerprint(facts),
        "environment": folder.write_environment({"git": {"commit": commit, "dirty": True}}),
    }
    folder.append([replace(record, run=run, **keys) for record in records])
    return folder


def store_two_runs(folder: Path) -> None:
    """Base and scatter at 4Ki in both runs; the second has a backward, and one that ran out of memory."""
    cost = Cost(flops=8e12, bytes=4e9, dense_flops=16e12)
    for run, factor in zip(RUNS, (1, 2), strict=True):
        common = {"cost": cost, "started": "2026-11-20T11:30:00Z"}
        figures = static_of(argument_bytes=10, output_bytes=20, temp_bytes=40, alias_bytes=5, flops=7)
        base = record_of(
            "base", 4096, timing=timing_of([4.0 * factor] * 6), correctness=PASSED, baseline=True,
            static={"host": figures, "tpu:v5p": figures}, memory=Memory(99), **common,
        )  # fmt: skip
        samples = [1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 3.0, 3.0]
        scatter = record_of(
            "scatter", 4096, timing=timing_of(samples, [0, 0, 1, 2, 3, 4, 5, 5], inner=3), options={"k": 2},
            correctness=PASSED, **common,
        )  # fmt: skip
        backward = record_of("base", 4096, mode="bwd", timing=timing_of([1.0]), correctness=PASSED, **common)
        oom = record_of("scatter", 8192, status="oom", reason="plans 33 GiB", workload={"topk": 7}, **common)
        store(folder, run, [base, scatter, *([backward, oom] if factor == 2 else [])])


def full_disk(*_: Any) -> None:
    """In the place of a system call that writes."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
