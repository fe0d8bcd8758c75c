"""The order of a run, and what whoever watches it hears."""

import dataclasses

from harness.run.runner import run
from tests.run.fakes import FakeExecutor, Heard
from tests.run.plans import SETTINGS, context, schedule


class Kept:
    """A sink that remembers every write."""

    def __init__(self):
        self.writes = []

    def append(self, records):
        self.writes.append(list(records))

    @property
    def records(self):
        return [record for write in self.writes for record in write]


def test_groups_in_order_each_written_before_the_next_begins(tmp_path):
    heard, kept, executor = Heard(), Kept(), FakeExecutor()
    outcome = run(schedule(replicates=2), context(executor, tmp_path, listener=heard), kept)
    assert (outcome.groups, outcome.interrupted) == (6, False)
    assert [(w[0].seq, w[0].replicate) for w in kept.writes] == [
        (seq, replicate) for seq in (1024, 2048, 4096) for replicate in (0, 1)
    ]
    assert [len(write) for write in kept.writes] == [2] * 6
    steps = [event for event in heard.events if event[0] in {"started", "finished"}]
    assert [event[0] for event in steps] == ["started", "finished"] * 6
    assert [event[1] for event in steps[::2]] == list(range(6))
    assert steps[0][3] is None
    assert steps[-1][2] == 0


def test_a_fingerprint_is_of_the_device_and_the_threads_of_a_group(tmp_path):
    kept = Kept()
    whole = schedule(skips=[("threshold", 2048)])
    other = dataclasses.replace(whole.groups[1], settings=dataclasses.replace(SETTINGS, threads=2))
    whole = dataclasses.replace(whole, groups=(whole.groups[0], other, *whole.groups[2:]))
    shared = context(FakeExecutor(), tmp_path)
    run(whole, shared, kept, fingerprint=lambda device, threads: f"{device} {threads}")
    named = [{record.fingerprint for record in write} for write in kept.writes]
    assert named == [{"cpu None"}, {"cpu 1"}, {"cpu 2"}, {"cpu 1"}]
