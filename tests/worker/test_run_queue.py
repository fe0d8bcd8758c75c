"""The time that threads wait for a core, from the kernel's files."""

from harness.worker import run_queue
from harness.worker.run_queue import RunQueue


def thread(folder, number, text):
    (folder / str(number)).mkdir(exist_ok=True)
    (folder / str(number) / "schedstat").write_text(text)


def test_the_share_is_of_all_threads_together(tmp_path, monkeypatch):
    now = iter((100.0, 102.0))
    monkeypatch.setattr(run_queue, "TASKS", tmp_path)
    monkeypatch.setattr(run_queue, "perf_counter", lambda: next(now))
    thread(tmp_path, 1, "7 1000000000 3")
    thread(tmp_path, 2, "7 0 3")
    queue = RunQueue()
    thread(tmp_path, 1, "7 2000000000 3")
    thread(tmp_path, 2, "7 2000000000 3")
    assert queue.share() == 1.5


def test_a_thread_that_ends_takes_nothing_back(tmp_path, monkeypatch):
    monkeypatch.setattr(run_queue, "TASKS", tmp_path)
    thread(tmp_path, 1, "7 10 3")
    thread(tmp_path, 2, "7 5000000000 3")
    queue = RunQueue()
    (tmp_path / "2" / "schedstat").unlink()
    assert queue.share() == 0


def test_it_is_unknown_where_the_kernel_does_not_count(tmp_path, monkeypatch):
    monkeypatch.setattr(run_queue, "TASKS", tmp_path / "none")
    assert RunQueue().share() is None
    monkeypatch.setattr(run_queue, "TASKS", tmp_path)
    thread(tmp_path, 1, "")
    assert RunQueue().share() is None
