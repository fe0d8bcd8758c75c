"""Processes end with their run, and suspended processes do not run."""

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.core import protocol
from harness.run.processes import worker_process
from harness.run.processes.executor import Ended

HERE = Path(__file__).parent
PATIENCE_S = 60
HOSTILE = HERE / "hostile_plugin.py"


def eventually(holds):
    """Whether a condition becomes true, with a generous timeout for a busy machine."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)  # it may wait for this core
    return True


def states(pid):
    """State letters of a process's threads; empty after it has ended."""
    try:
        stats = [(task / "stat").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return set()
    return {stat.rpartition(")")[2].split()[0] for stat in stats}


@contextmanager
def killed_at_last(command, environment):
    """A program that is killed with SIGKILL at the end of the block."""
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as run:
        try:
            yield run
        finally:
            run.kill()
            run.wait()


def test_a_suspended_worker_stops_all_its_threads(topk):
    worker = topk.spawn("numpy", "topk/leaks", HOSTILE)
    worker.ask("prepare", 60, trace_s=1.0)
    assert eventually(lambda: states(worker.pid) == {"T"})
    worker.ask("check", 60, cotangent=None, result="result")
    assert eventually(lambda: states(worker.pid) == {"T"})
    assert len(list(Path(f"/proc/{worker.pid}/task").iterdir())) >= 2
    worker.close()
    assert eventually(lambda: not states(worker.pid))


def test_a_workers_children_end_with_it(own_processes, group_in):
    group = group_in(own_processes)
    before = set(own_processes.living())
    worker = group.spawn("numpy", "topk/leaves_a_child", HOSTILE)
    worker.ask("prepare", 60, trace_s=1.0)
    assert eventually(lambda: len(set(own_processes.living()) - before) == 4), (
        "it, its child, and two that have lost their parent"
    )
    worker.close()
    assert eventually(lambda: set(own_processes.living()) == before)


def test_nothing_lives_after_close(own_processes, group_in):
    group = group_in(own_processes)
    names = ("leaks", "leaves_a_child", "changes_group", "rearranges")
    workers = [group.spawn("numpy", f"topk/{name}", HOSTILE) for name in names]
    for worker in workers:
        worker.ask("prepare", 60, trace_s=1.0)
    assert eventually(lambda: len(own_processes.living()) == 2 + len(names) + 3), "with three children"
    own_processes.executor.close()
    assert eventually(lambda: not own_processes.living())
    for worker in workers:
        worker.close()
    assert not own_processes.executor.folder.exists()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_when_their_server_is_killed(own_processes, group_in, number):
    group = group_in(own_processes)
    worker = group.spawn("numpy", "topk/behaves", HOSTILE)
    worker.ask("prepare", 60, trace_s=1.0)
    (server,) = own_processes.executor.servers.values()
    os.kill(server.process.pid, number)
    assert eventually(lambda: not own_processes.living())
    assert group.folder.exists(), "other processes may still read it"
    with pytest.raises(Ended) as end:
        worker.ask("check", 60, cotangent=None, result="result")
    assert end.value.status == "crashed"


@pytest.mark.parametrize(("kills", "status"), [(0, "crashed"), (1, "oom")])
def test_the_cause_of_a_killed_worker_is_reported(own_processes, group_in, monkeypatch, kills, status):
    counted = [7]
    monkeypatch.setattr(worker_process, "oom_kills", lambda: counted[0])
    group = group_in(own_processes)
    worker, other = (group.spawn("numpy", "topk/behaves", HOSTILE) for _ in range(2))
    for each in (worker, other):
        each.ask("prepare", 60, trace_s=1.0)
    counted[0] += kills
    os.kill(worker.pid, signal.SIGKILL)
    assert eventually(lambda: worker.server.drain() or worker.fork.exit_code == -signal.SIGKILL)
    other.ask("check", 60, cotangent=None, result="other")  # a request in between does not change the end
    with pytest.raises(Ended) as end:
        worker.ask("check", 60, cotangent=None, result="result")
    assert end.value.status == status
    other.close()


def test_nothing_lives_after_the_run_is_killed(living, tmp_path):
    mark = str(tmp_path)
    environment = {**os.environ, "SEQSWEEP_TEST_RUN": mark, "PYTHONPATH": str(HERE.parents[1])}
    command = [sys.executable, "-m", "tests.worker.abandoned_run"]
    with killed_at_last(command, environment) as run:
        folder = Path(run.stdout.readline().strip())
        assert len(living(mark)) >= 8
        assert folder.is_dir()
    assert eventually(lambda: not living(mark)), [states(pid) for pid in living(mark)]
    assert eventually(lambda: not folder.exists())


class TestServer:
    """The fork server without a runner."""

    @pytest.fixture
    def server(self, tmp_path):
        started = []

        def start(framework, **environment):
            scratch = tmp_path / "scratch"
            scratch.mkdir()
            mine, theirs = protocol.pair()
            with theirs:
                module = ("-m", "harness.worker.fork_server", framework)
                process = subprocess.Popen(
                    [sys.executable, *module, str(theirs.fileno()), str(scratch)],
                    env={**os.environ, "PYTHONPATH": str(HERE.parents[1]), **environment},
                    pass_fds=[theirs.fileno()],
                )
            started.append((mine, process))
            return mine, process, scratch

        yield start
        for mine, process in started:
            mine.close()
            process.kill()
            process.wait()

    def test_it_reports_ready_and_ends_with_the_runner(self, server):
        mine, process, scratch = server("numpy")
        assert protocol.receive(mine)[0] == {"ready": process.pid}
        mine.close()
        process.wait(PATIENCE_S)
        assert not scratch.exists()

    @pytest.mark.parametrize(
        "error", [ImportError("no jax here"), OSError("libjax.so: wrong ELF class")], ids=repr
    )
    def test_a_missing_framework_is_reported_without_ending_the_server(self, server, tmp_path, error):
        (tmp_path / "jax.py").write_text(f"raise {error!r}\n")
        mine, process, _ = server("jax", PYTHONPATH=f"{tmp_path}:{HERE.parents[1]}")
        assert str(error) in protocol.receive(mine)[0]["missing"]
        assert process.poll() is None
        mine.close()
        process.wait(PATIENCE_S)

    @pytest.mark.parametrize("moment", ["at its start", "while it imports"])
    def test_a_server_that_is_not_ready_ends_with_the_run(self, living, tmp_path, moment):
        reached = tmp_path / "reached"
        (tmp_path / "jax.py").write_text(
            f"import threading\nopen({str(reached)!r}, 'w').close()\nthreading.Event().wait()\n"
        )
        code = """
from harness.run.processes.worker_process import Processes
import threading
executor = Processes(["jax"], "cpu")
print(executor.folder, flush=True)
threading.Event().wait()
"""
        mark = str(tmp_path)
        path = f"{tmp_path}:{HERE.parents[1]}"
        environment = {**os.environ, "SEQSWEEP_TEST_RUN": mark, "PYTHONPATH": path}
        with killed_at_last([sys.executable, "-c", code], environment) as run:
            folder = Path(run.stdout.readline().strip())
            assert eventually(lambda: len(living(mark)) == 2)
            assert moment == "at its start" or eventually(reached.exists)
        assert eventually(lambda: not living(mark))
        shutil.rmtree(folder, ignore_errors=True)  # the process that removes it may not have started
