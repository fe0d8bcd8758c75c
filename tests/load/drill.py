"""Load drill: verdicts on pairs of equal programs, on a quiet machine and on a busy one.

    python -m tests.load.drill --runs 20

Run nothing else on the machine meanwhile. Verdicts of faster or slower are false, unless they are doubtful.
`--into` writes the table of docs/RELIABILITY.md.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from harness.analysis.stats import DOUBTFUL, FASTER, SLOWER, Estimate, interval_verdict, ratio
from harness.core.record import MOST_QUEUED
from harness.store.find import all_runs
from tests.faults.drill import ROOT, write_between_marks
from tests.load.same_twice import KERNELS

PLUGIN = Path(__file__).with_name("same_twice.py")
LOADS = (0, 1, 2)  # busy programs
HEAD = """\
| busy programs | pairs | about the same | undecided | doubtful | false | false without *doubtful* | queued |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""


class Pair(NamedTuple):
    """Comparison of two equal programs: the ratio of their times, and the larger `queued` share."""

    kernel: str
    times: Estimate
    queued: float

    @property
    def is_false(self) -> bool:
        return interval_verdict(self.times) in {FASTER, SLOWER}

    @property
    def would_be_false(self) -> bool:
        return self._replace(times=self.times._replace(doubtful=False)).is_false


def bench() -> str:
    same = "family: same_twice, baseline: once, impls: [once, again]"
    suites = [f"  {name}: {{{same}, kernel: {name}, seq: [{seq}]}}" for name, (_, seq) in KERNELS.items()]
    return "\n".join([f"plugins: [{PLUGIN}]", "defaults: {budget: 1s}", "suites:", *suites, ""])


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Run `count` programs that never sleep, during the block."""
    programs = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(count)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def measure(folder: Path) -> list[Pair]:
    """Run every pair once."""
    (folder / "bench.yaml").write_text(bench())
    command = [sys.executable, str(ROOT / "cli.py"), "run", "--config", str(folder / "bench.yaml")]
    ended = subprocess.run(
        [*command, "--results", str(folder / "results")],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        raise SystemExit(f"exit {ended.returncode}\n{ended.stdout[-2000:]}\n{ended.stderr[-2000:]}")
    (run,) = all_runs(folder / "results")
    records = {(r.workload["kernel"], r.implementation.rpartition("/")[2]): r for r in run.read().records}
    pairs = [(kernel, records[kernel, "again"], records[kernel, "once"]) for kernel in KERNELS]
    return [Pair(kernel, ratio([a], [b]), max(a.timing.queued, b.timing.queued)) for kernel, a, b in pairs]


def row(load: int, pairs: list[Pair]) -> str:
    verdicts = Counter(interval_verdict(pair.times) for pair in pairs)
    false = sum(pair.is_false for pair in pairs)
    cells = [load, len(pairs), verdicts["about the same"], verdicts["undecided"], verdicts[DOUBTFUL], false]
    cells += [sum(pair.would_be_false for pair in pairs), f"{statistics.median(p.queued for p in pairs):.2f}"]
    return f"| {' | '.join(map(str, cells))} |"


def page(pairs: Mapping[int, list[Pair]]) -> str:
    """The table, and how many pairs exceed the threshold."""
    rows = "\n".join(row(load, own) for load, own in pairs.items())
    quiet = sorted(pair.queued for pair in pairs.get(0, ()))
    above = sum(queued > MOST_QUEUED for queued in quiet)
    text = f"On the quiet machine, `queued` exceeded {MOST_QUEUED:g} in {above} of {len(quiet)} pairs."
    return f"{HEAD}{rows}\n\n{text}\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20, help="runs of each pair per load (default: 20)")
    parser.add_argument(
        "--loads", type=int, nargs="*", default=LOADS, help="numbers of busy programs (default: 0 1 2)"
    )
    parser.add_argument("--into", type=Path, help="page with marks between which the table is written")
    arguments = parser.parse_args()
    pairs: dict[int, list[Pair]] = {load: [] for load in arguments.loads}
    for load in arguments.loads:
        for _ in range(arguments.runs):
            with tempfile.TemporaryDirectory(prefix="seqsweep-load-") as home, busy(load):
                pairs[load] += measure(Path(home))
            for pair in pairs[load][-len(KERNELS) :]:
                print(
                    load, pair.kernel, *pair.times[:3], interval_verdict(pair.times), pair.queued, flush=True
                )
    text = page(pairs)
    print(text)
    if arguments.into:
        write_between_marks(arguments.into, text, "drill-load")
    false = sum(pair.is_false for own in pairs.values() for pair in own)
    raise SystemExit(0 if false <= 0.05 * sum(map(len, pairs.values())) else 1)


if __name__ == "__main__":
    main()
