"""A run to kill, with suspended workers, a hanging one, and children outside of its process groups.

`python -m tests.worker.abandoned_run` prints the run's scratch folder when it is ready, and waits.
"""

import os
import threading
import time
from pathlib import Path

from tests.worker.conftest import MARK, Group, RunProcesses

HERE = Path(__file__).parent


def wait_for(pid, *, parked):
    while (Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T") is not parked:
        time.sleep(0)


def main():
    processes = RunProcesses(os.environ[MARK])
    group = Group(processes, "exact", "numpy", "topk/exact", "impls.topk.family")
    workers = [
        group.spawn("numpy", f"topk/{name}", HERE / "hostile_plugin.py")
        for name in ("leaks", "leaves_a_child", "changes_group", "hangs")
    ]
    for worker in workers:
        worker.ask("prepare", 60, trace_s=1.0)
    hangs = workers[-1]
    wait_for(hangs.pid, parked=True)
    threading.Thread(
        target=hangs.ask, args=("check", 1e6), kwargs={"cotangent": None, "result": "result-1"}, daemon=True
    ).start()
    wait_for(hangs.pid, parked=False)
    print(processes.executor.folder, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
