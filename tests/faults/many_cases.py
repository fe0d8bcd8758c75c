"""The drill of many cases: what trivial ones cost besides their work, and leave in the parent.

    python -m tests.faults.many_cases --cases 2000

`--into` writes docs/RELIABILITY.md's table. Nothing here is decided by a time; a case that is lost, and
descriptors that pile up, are a failure.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import psutil

from harness.store.find import all_runs
from tests.faults.drill import ROOT, write_between_marks

PLUGIN = Path(__file__).with_name("trivial.py")
ROWS = 10
BENCH = """\
plugins: [trivial.py]
defaults: {{budget: 1ms}}
suites:
  trivial: {{family: trivial, seq: {lengths}, rows: {rows}, baseline: added, impls: [added, doubled]}}
"""
LOOKS = 10  # tenths of the run, each a line of the table


def call(folder, words, look=lambda _: None):
    """Seconds of the command, processor seconds of it and all below it, and its output."""
    environment = {**os.environ, "TMPDIR": str(folder), "OMP_NUM_THREADS": "1"}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with (folder / "said").open("w+") as said:
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "cli.py"), *words],
            cwd=folder, env=environment, stdout=said, stderr=subprocess.STDOUT,
        )  # fmt: skip
        while process.poll() is None:
            time.sleep(0.2)
            look(process.pid)
        text = (folder / "said").read_text()
    seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode:
        raise SystemExit(f"{' '.join(words)}: exit {process.returncode}\n{text}")
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, text


class Parent:
    """(records, resident bytes, descriptors) of a run's parent over time."""

    def __init__(self, folder):
        self.folder, self.looks = folder, []

    def __call__(self, pid):
        for path in self.folder.glob("results/runs/*/records.jsonl"):
            count = path.read_bytes().count(b'"append":[')
            try:
                parent = psutil.Process(pid)
                look = count, parent.memory_info().rss, parent.num_fds()
            except psutil.Error:
                continue  # it has ended
            self.looks += [look] if look[1] else []  # nothing is left of one that nobody has waited for

    def between(self, low, high):
        """Resident bytes at the end of a stretch, and the fewest descriptors in it: a start takes some."""
        looks = [look for look in self.looks if low <= look[0] <= high]
        return looks[-1][1], min(descriptors for *_, descriptors in looks)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--into", type=Path, help="a page, between whose marks the table is written")
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="seqsweep-many-"))
    lengths = list(range(1, 1 + asked.cases // (2 * ROWS)))
    (folder / "bench.yaml").write_text(BENCH.format(lengths=lengths, rows=list(range(1, 1 + ROWS))))
    shutil.copy(PLUGIN, folder)
    parent, cases = Parent(folder), 2 * ROWS * len(lengths)
    _, cpu_s, _ = call(folder, ["run"], parent)
    (run,) = all_runs(folder / "results")
    read = run.read()
    assert not read.problems, read.problems
    assert len({record.case for record in read.records}) == len(read.records) == cases
    bad = [record for record in read.records if record.status != "ok"]
    for record in bad:
        print(f"{record.case}: {record.status}: {record.reason}", file=sys.stderr)
    spent = run.info["overhead"]
    work_s, rest_s = spent["work_s"], spent["wall_s"] - spent["work_s"]
    rows = [
        ("wall", f"{1000 * spent['wall_s'] / cases:.0f} ms"),
        ("of that compiling, warming up, verifying, reading the clock", f"{1000 * work_s / cases:.0f} ms"),
        ("besides", f"{1000 * rest_s / cases:.0f} ms"),
        ("processor time, of all processes", f"{1000 * cpu_s / cases:.0f} ms"),
    ]  # fmt: skip
    table = [f"| a case of {cases}, {len(bad)} of them not ok | |", "| --- | ---: |"]
    table += [f"| {name} | {value} |" for name, value in rows]
    ends = [cases * tenth // LOOKS for tenth in range(1 + LOOKS)]
    looks = [(high, *parent.between(low, high)) for low, high in pairwise(ends)]
    steady = [descriptors for *_, descriptors in looks]
    table += ["", "| cases done | the parent's resident memory | its open files |", "| ---: | ---: | ---: |"]
    table += [f"| {count} | {rss / 2**20:.1f} MiB | {fds} |" for count, rss, fds in looks]
    table += ["", "| afterwards | seconds | processor seconds |", "| --- | ---: | ---: |"]
    for words in (["run", "--resume"], ["show"], ["list"]):
        seconds, busy_s, _ = call(folder, words)
        table.append(f"| `{' '.join(words)}` | {seconds:.1f} | {busy_s:.1f} |")
    said = "\n".join(table) + "\n"
    print(said)
    good = not bad and steady[-1] <= steady[0]
    if good and asked.into:
        write_between_marks(asked.into, said, "many-cases")
    shutil.rmtree(folder)
    raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    main()
