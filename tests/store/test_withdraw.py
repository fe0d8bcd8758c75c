"""Taking records out of a run, so that they can be measured again."""

from harness.store.runs import WITHDRAWN
from harness.store.stored_run import RECORDS


def test_withdrawn_records_are_kept_aside_and_the_rest_stays_as_it_was(folder, record):
    folder.append([record(seq=1024), record(seq=1024, name="broadcast")])
    before, stored = (folder.path / RECORDS).read_bytes(), folder.read().records
    last = [record(seq=2048), record(seq=2048, name="broadcast")]
    folder.append(last)
    after = (folder.path / RECORDS).read_bytes()
    folder.withdraw({one.key[:2] for one in last})
    kept, out = (folder.path / RECORDS).read_bytes(), (folder.path / WITHDRAWN).read_bytes()
    assert kept.startswith(before)
    assert b"append" not in kept.removeprefix(before)  # definitions alone
    assert kept + out == after
    assert folder.read().records == stored
    folder.append(last)
    assert len(folder.read().records) == 4
    assert folder.read().problems == ()
    assert folder.repair() == ()


def test_what_is_withdrawn_twice_is_kept_twice(folder, record):
    for _ in range(2):
        folder.append([record()])
        folder.withdraw({record().key[:2]})
    assert len((folder.path / WITHDRAWN).read_bytes().splitlines()) == 2
    assert folder.read().records == ()
