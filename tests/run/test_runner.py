"""The order of a run, and what whoever watches it hears."""

import dataclasses

from harness.run.group.records import was_cut_short
from harness.run.runner import finished_keys, remaining_groups, run, unfinished_keys
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


def test_only_what_is_left_is_measured_and_positions_are_those_of_the_whole(tmp_path):
    whole, before = schedule(), Kept()
    run(whole, context(FakeExecutor(), tmp_path), before)
    heard, kept = Heard(), Kept()
    done = iter(before.records[:2])
    outcome = run(whole, context(FakeExecutor(), tmp_path, listener=heard), kept, done=done)
    assert outcome.groups == 2
    assert [write[0].seq for write in kept.writes] == [2048, 4096]
    assert [event[1] for event in heard.events if event[0] == "started"] == [1, 2]


def test_a_fingerprint_is_of_the_device_and_the_threads_of_a_group(tmp_path):
    kept = Kept()
    whole = schedule(skips=[("threshold", 2048)])
    other = dataclasses.replace(whole.groups[1], settings=dataclasses.replace(SETTINGS, threads=2))
    whole = dataclasses.replace(whole, groups=(whole.groups[0], other, *whole.groups[2:]))
    shared = context(FakeExecutor(), tmp_path)
    run(whole, shared, kept, fingerprint=lambda device, threads: f"{device} {threads}")
    named = [{record.fingerprint for record in write} for write in kept.writes]
    assert named == [{"cpu None"}, {"cpu 1"}, {"cpu 2"}, {"cpu 1"}]


def test_known_seconds_are_the_first_estimate(tmp_path):
    heard = Heard()
    whole = schedule()
    known = {one.id: 1.5 for group in whole.groups for one in group.cases}
    run(whole, context(FakeExecutor(), tmp_path, listener=heard), Kept(), known_s=known)
    assert [event[3] for event in heard.events if event[0] == "started"] == [9.0, 6.0, 3.0]


def test_an_incomplete_group_is_left_and_its_records_are_to_be_taken_out(tmp_path):
    whole, kept = schedule(), Kept()
    run(whole, context(FakeExecutor(), tmp_path), kept)
    records = kept.records
    assert remaining_groups(whole, finished_keys(records)) == []
    assert unfinished_keys(whole, records) == set()
    half = [record for record in records if record.case != records[0].case]
    assert [group.cases[0].seq for group, _ in remaining_groups(whole, finished_keys(half))] == [1024]
    assert unfinished_keys(whole, half) == {(records[1].case, 0)}


def test_an_interrupted_group_is_left_with_all_its_records(tmp_path):
    whole, kept = schedule(), Kept()
    assert run(whole, context(FakeExecutor(stop=(15, KeyboardInterrupt())), tmp_path), kept).interrupted
    assert any(was_cut_short(record) for record in kept.records)
    assert len(remaining_groups(whole, finished_keys(kept.records))) == 3
    assert unfinished_keys(whole, kept.records) == {(record.case, 0) for record in kept.records}
