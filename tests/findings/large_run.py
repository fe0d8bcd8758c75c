"""Seconds and memory of a report of 100 000 made records: `python -m tests.findings.large_run`.

Twice: 10 000 cases of ten replicates each, and 100 000 cases. Nothing else should run beside it.
"""

import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.records import PASSED, record_of, static_of, timing_of
from tests.stores import store

K = 1024
PANELS, LENGTHS = 50, 10


def records(implementations, replicates):
    noise, plan = random.Random(0), static_of(temp_bytes=8 * K, argument_bytes=K, output_bytes=K, fits=True)
    for rows in range(1, PANELS + 1):
        for power in range(LENGTHS):
            for place in range(implementations):
                for replicate in range(replicates):
                    seconds = (1 + place / 7) * 1e-5 * 2**power
                    yield record_of(
                        f"impl{place}" if place else "base",
                        K << power,
                        timing=timing_of([seconds * noise.uniform(0.98, 1.02) for _ in range(8)]),
                        correctness=PASSED,
                        baseline=not place,
                        replicate=replicate,
                        workload={"rows": rows},
                        static={} if replicate else {"host": plan},
                    )


def main():
    for implementations, replicates in ((20, 10), (200, 1)):
        with tempfile.TemporaryDirectory() as folder:
            store(Path(folder), "20261123T000000Z-aaaaaaa", list(records(implementations, replicates)))
            command = [sys.executable, "cli.py", "report", "--results", folder]
            began = time.monotonic()
            page = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
            took = time.monotonic() - began
        mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
        made = f"{implementations} implementations, {replicates} replicates"
        print(f"{made}: {took:.1f} s, {mib} MiB, {len(page)} bytes")


if __name__ == "__main__":
    main()
