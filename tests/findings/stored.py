"""A stored run: sparse is slower than dense at 4Ki, faster at 8Ki, and only sparse fits at 16Ki."""

from dataclasses import replace

from harness.findings.findings_run import read_findings_run
from harness.store.runs import RunFolder
from harness.store.stored_run import NOTES
from tests.records import PASSED, record_of, static_of, timing_of

K = 1024
MACHINE = {"sha256:aa": {"cpu": "AMD EPYC", "threads": 2, "cores": 2, "versions": {"jax": "0.10.2"}}}


def timed(name, seq, seconds, **more):
    samples = [seconds * factor for factor in (1.0, 0.99, 1.01, 0.98, 1.02, 1.0, 0.995, 1.005)]
    return record_of(
        name, seq, timing=timing_of(samples), correctness=PASSED, fingerprint="sha256:aa", **more
    )


def sweep():
    """Sparse is slower at 4Ki and faster from 8Ki; dense does not fit at 16Ki."""
    fits, plan = static_of(temp_bytes=8 * K, argument_bytes=K, output_bytes=K, fits=True), "plans 32 GiB"
    return [
        timed("dense", 4 * K, 1e-3, baseline=True, static={"host": fits}),
        timed("sparse", 4 * K, 2e-3),
        timed("dense", 8 * K, 4e-3, baseline=True, static={"host": fits}),
        timed("sparse", 8 * K, 2e-3),
        record_of("dense", 16 * K, status="oom", reason=plan, baseline=True),
        timed("sparse", 16 * K, 4e-3),
    ]


def store_findings_run(folder, records, notes="", **info):
    suite = {"family": "mask", "baseline": "mask/dense", "implementations": ["mask/dense", "mask/sparse"]}
    cases = [record.case for record in records]
    described = {"schema": 1, "run": "one", "depth": "run", "started": "2026-11-23", "finished": "2026-11-23"}
    described |= {"command": ["seqsweep", "run"], "suites": {"mask": {**suite, "cases": cases}}, **info}
    run = RunFolder.create(folder, "one", described)
    state = run.write_environment({"git": {"commit": "c0ffee", "dirty": True}, "load": [0.5]})
    run.append([replace(record, environment=state) for record in records])
    for facts in MACHINE.values():
        run.write_fingerprint(facts)
    if notes:
        (run.path / NOTES).write_text(notes)
    return read_findings_run(run, "results/reference/one")
