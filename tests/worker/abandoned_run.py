"""A run that is about to be killed: workers parked, one hanging, children outside of every group.

`python abandoned_run.py PLUGIN_FOLDER` prints the run's scratch folder once all that is so, and waits.
"""

import sys
import threading
import time
from pathlib import Path

from harness.core.case import Case
from harness.core.protocol import Job
from harness.run.processes.worker_process import Processes

WORKLOAD = {"batch": 1, "rows": 4, "seq": 256, "topk": 8, "recall": 0.95, "distribution": "iid"}
WORKLOAD["dtype"] = "f32"


def wait_for(pid, *, parked):
    while (Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T") is not parked:
        time.sleep(0)


def main(plugins):
    executor = Processes(["numpy"], "cpu")
    folder = executor.folder / "group"
    folder.mkdir()

    def spawn(role, name, module):
        return executor.spawn(
            Job(
                role=role,
                framework="numpy",
                module=module,
                case=Case.of(f"topk/{name}", {}, WORKLOAD),
                group="a group",
                folder=str(folder),
                seed=0,
                threads=1,
                memory_bytes=256 << 20,
            ),
            1 << 30,
        )

    reference = spawn("reference", "exact", "impls.topk.family")
    reference.ask("inputs", 60, sets=3)
    names = ("leaks", "leaves_a_child", "changes_group")
    workers = [spawn("case", name, str(plugins / "meddling_plugin.py")) for name in names]
    for worker in workers:
        worker.ask("prepare", 60, trace_s=1.0)
    hangs = spawn("case", "hangs", str(plugins / "hostile_plugin.py"))
    hangs.ask("prepare", 60, trace_s=1.0)
    wait_for(hangs.pid, parked=True)
    threading.Thread(
        target=hangs.ask, args=("check", 1e6), kwargs={"cotangent": None, "result": "result-1"}, daemon=True
    ).start()
    wait_for(hangs.pid, parked=False)
    print(executor.folder, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
