"""A run on several devices has a fingerprint for each, so that a case has one history."""

from dataclasses import replace

import pytest

from harness.core.errors import UsageError
from harness.run.group.group_context import GroupContext
from harness.run.machine.device_memory import DeviceMemory
from harness.store.stored_run import fingerprint_id
from harness.sweep.suite import Skip
from tests.run.conftest import FACTS
from tests.run.fakes import MIB, FakeExecutor
from tests.run.plans import context, group, schedule

CACHES = {"caches": {"GPU L2": {"bytes": 50 << 20}}}
GPU = {"name": "NVIDIA H100 80GB HBM3", "memory.total": "81559 MiB"}


def facts_of(device):
    return {**FACTS, "device": device, **({"gpu": GPU, **CACHES} if device == "cuda" else {})}


def on_cuda(case):
    return replace(case, device="cuda")


def on_both():
    """Groups on the cpu, then the same on a GPU, and a case that a GPU cannot run."""
    here = schedule(seqs=(1024, 2048), skips=[("threshold", 2048)])
    there = [
        replace(
            one,
            key=f"{one.key}/cuda",
            cases=tuple(map(on_cuda, one.cases)),
            baselines={case.id: () for case in map(on_cuda, one.cases)},
        )
        for one in here.groups
    ]
    cases = (*here.suites[0].cases, *(case for one in there for case in one.cases))
    skips = tuple(Skip(on_cuda(skip.case), skip.reason) for skip in here.skips)
    suite = replace(here.suites[0], devices=("cpu", "cuda"), cases=(*cases, *(skip.case for skip in skips)))
    return replace(here, suites=(suite,), groups=(*here.groups, *there), skips=skips)


def fingerprints_by_device(records):
    return {(record.device, record.fingerprint) for record in records}


def test_each_record_has_the_fingerprint_of_its_device(execute):
    both = execute(FakeExecutor(), on_both(), facts=facts_of)
    expected = {(device, fingerprint_id(facts_of(device))) for device in ("cpu", "cuda")}
    assert fingerprints_by_device(both.records) == expected
    assert {r.device for r in both.records if r.status == "unsupported"} == {"cuda"}
    assert {facts["device"] for facts in both.folder.fingerprints().values()} == {"cpu", "cuda"}


def test_resume_compares_each_record_with_its_device(execute):
    stopped = execute(FakeExecutor(stop=(60, KeyboardInterrupt())), on_both(), facts=facts_of)
    assert stopped.interrupted
    again = execute(FakeExecutor(), on_both(), facts=facts_of, resume=True)
    assert not again.interrupted
    assert len(fingerprints_by_device(again.records)) == 2


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_resume_says_what_differs_of_the_device_that_differs(execute, device):
    execute(FakeExecutor(), on_both(), facts=facts_of)

    def changed(on):
        return {**facts_of(on), **({"kernel": "7"} if on == device else {})}

    with pytest.raises(UsageError, match=r"this machine differs in kernel \(None then, 7 now\)"):
        execute(FakeExecutor(), on_both(), facts=changed, resume=True)


def test_only_groups_of_the_gpu_have_its_memory(tmp_path):
    shared = context(FakeExecutor(), tmp_path)
    shared.device_memory = {name: DeviceMemory.of(name, facts_of(name)) for name in ("cpu", "cuda")}
    host = group()
    gpu = replace(host, cases=tuple(map(on_cuda, host.cases)))
    for one, process_bytes in ((host, 0), (gpu, 768 * MIB)):
        assert GroupContext(one, shared).device_memory.process_bytes == process_bytes
