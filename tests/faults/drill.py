"""The drill of faults: commands killed at random moments, and gone on with or repeated.

    python -m tests.faults.drill --kills 50

Each has to come to the same result as one that nobody stopped, medians apart; `--into` writes
docs/RELIABILITY.md's table. Nothing here is decided by a time: when a signal lands is drawn.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from harness.gate.timed.run import newest_gate
from harness.store.find import all_runs
from tests.repositories import NO_USER, Repository

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = Path(__file__).with_name("sums.py")
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
BENCH = """\
plugins: [sums.py]
defaults: {budget: 30ms, timeout: 60s, memory: 2GiB}
suites:
  sums: {family: sums, seq: [16, 32, 64, 128], baseline: by_matrix, impls: [by_matrix, by_scan]}
"""
LONGEST_S = 300


class Drill:
    """A folder for each attempt, also used as its TMPDIR, to detect files left behind."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.home = Path(tempfile.mkdtemp(prefix="seqsweep-drill-"))
        self.counts = Counter()

    def start(self, folder, words):
        (folder / "tmp").mkdir(parents=True, exist_ok=True)
        (folder / "bench.yaml").write_text(BENCH)
        shutil.copy(PLUGIN, folder)
        environment = {**os.environ, **NO_USER, "TMPDIR": str(folder / "tmp"), "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(
            [sys.executable, str(ROOT / "cli.py"), *words],
            cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def finish(self, folder, words):
        """The exit code and output of an uninterrupted command."""
        process = self.start(folder, words)
        said, _ = process.communicate(timeout=LONGEST_S)
        return process.returncode, said

    def kill(self, folder, words, whole_s):
        """Start the command and end it at a drawn moment; which signal, and whether it landed."""
        process, number = self.start(folder, words), self.random.choice(SIGNALS)
        time.sleep(self.random.uniform(0.1, 1.0) * whole_s)
        landed = process.poll() is None
        process.send_signal(number)
        try:
            said, _ = process.communicate(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            process.kill()
            said = "Traceback: it did not end"
        return number, landed, said

    def attempt(self, name, words, again, result, expected, whole_s, prepare):
        folder = self.home / f"{name}-{self.random.randrange(10**9)}"
        folder.mkdir()
        prepare(folder)
        number, landed, said = self.kill(folder, words, whole_s)
        code, more = self.finish(folder, again(folder))
        for _ in range(2):
            # It was ended before there was anything to go on with.
            if code == 2 and re.search("no run|no gate", more):
                code, more = self.finish(folder, words)
        left = [path for path in (folder / "tmp").iterdir() if path.is_dir()]
        spilled = sum(path.stat().st_size for path in (folder / "tmp").rglob("*") if path.is_file())
        same = result(folder) == expected
        good = same and "Traceback" not in said + more and not left and spilled < 1 << 16
        ended = "same result" if good else "FAILED"
        self.counts[name, number.name, "landed" if landed else "too late", ended] += 1
        if not good:
            print(
                f"{name} {number.name}: exit {code}, same {same}, {spilled} B left in {left}", file=sys.stderr
            )
            print(said, more, sep="\n", file=sys.stderr)
        shutil.rmtree(folder)
        return good


def outcomes(folder):
    """What of a run does not depend on when it was measured: each case once, and what became of it."""
    found = []
    for run in all_runs(folder / "results")[-1:]:
        read = run.read()
        assert not read.problems, read.problems
        for record in read.records:
            correct = json.dumps(record.to_json()["correctness"], sort_keys=True)
            found.append((record.case, record.replicate, record.status, correct, record.timing is not None))
        found.append(("finished", bool(run.info["finished"])))
    return sorted(found, key=str)


def gated(folder):
    """A gate's cases, whether it has ended, and the worktrees of git."""
    outcome = newest_gate(folder / "results").outcome
    trees = [path.name for path in folder.glob(".git/worktrees/*")]
    return sorted(case.case for case in outcome.cases), trees


def files_of(part):
    def read(folder):
        return {
            str(p.relative_to(folder)): p.read_bytes()
            for p in sorted((folder / part).rglob("*"))
            if p.is_file() and p.suffix != ".lock"
        }

    return read


def write_between_marks(page, said, name="drill-faults"):
    before, begin, rest = page.read_text().partition(f"<!-- {name} -->\n")
    _, end, after = rest.partition("<!-- end -->\n")
    page.write_text(before + begin + said + end + after)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--into", type=Path, help="a page, between whose marks the table is written")
    asked = parser.parse_args()
    drill = Drill(asked.seed)
    whole = drill.home / "whole"
    whole.mkdir()
    run = ["run", "--quick"]
    times, expected = {}, {}
    joined, page = ["collect", "kept", "--results", "results"], ["report", "--into", "page.md"]
    profile = ["profile", "sums/by_scan", "--seq", "64", "--quick"]

    gate = ["gate", "sums", "--against", "git:HEAD", "--max-pairs", "4", "--delta", "90%", "--budget", "600s"]

    repository = Repository(drill.home / "repository")
    files = {".gitignore": "results/\ntmp/\n", "bench.yaml": BENCH, PLUGIN.name: PLUGIN.read_text()}
    repository.commit(files)

    def copy_repository(folder):
        shutil.copytree(repository.folder, folder, dirs_exist_ok=True)

    def copy_shards(folder):
        shutil.copytree(whole / "results", folder / "kept")

    def prepare_report(folder):
        shutil.copytree(whole / "results", folder / "results")
        (folder / "page.md").write_text("<!-- seqsweep:verdict -->\n<!-- seqsweep:end -->\n")

    plans = {
        "run": (run, lambda _: [*run, "--resume"], outcomes, lambda _: None, 6),
        "collect": (joined, lambda _: joined, files_of("results/runs"), copy_shards, 2),
        "report": (page, lambda _: page, files_of("page.md"), prepare_report, 1),
        "gate": (gate, lambda _: gate, gated, copy_repository, 3),
        "profile": (
            profile,
            lambda _: profile,
            lambda folder: [o[:3] for o in outcomes(folder)],
            lambda _: None,
            1,
        ),
    }
    for name, (words, _, result, prepare, _) in plans.items():
        folder = whole if name == "run" else drill.home / f"whole-{name}"
        folder.mkdir(exist_ok=True)
        prepare(folder)
        began = time.monotonic()
        code, said = drill.finish(folder, words)
        times[name] = time.monotonic() - began
        if code not in (0, 3):
            print(f"{name}: exit {code}\n{said}", file=sys.stderr)
            raise SystemExit(1)
        expected[name] = result(folder)
    parts = sum(weight for *_, weight in plans.values())
    good = True
    for name, (words, again, result, prepare, weight) in plans.items():
        for _ in range(max(1, asked.kills * weight // parts)):
            good &= drill.attempt(name, words, again, result, expected[name], times[name], prepare)
    rows = [f"| {' | '.join(row)} | {count} |" for row, count in sorted(drill.counts.items())]
    table = "\n".join(
        ["| command | signal | when | ended as | times |", "| --- | --- | --- | --- | ---: |", *rows]
    )
    said = f"{table}\n\n{sum(drill.counts.values())} signals, seed {asked.seed}.\n"
    print(said)
    if good and asked.into:
        write_between_marks(asked.into, said)
    shutil.rmtree(drill.home)
    raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    main()
