"""The drill of load: pairs of equal programs on a quiet machine and on a busy one, and what is said of them.

    python -m tests.load.drill --runs 20

Run nothing else on the machine meanwhile. A verdict of faster or slower is false here, unless it is doubtful.
`--into` writes docs/RELIABILITY.md's table.
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
| busy programs | pairs | about the same | undecided | doubtful | told apart | without the doubt | queued |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""


class Pair(NamedTuple):
    """What two equal programs took: the ratio of their times, and the larger of their `queued` shares."""

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
    """So many programs that never sleep, for as long as the block runs."""
    programs = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(count)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def measure(folder: Path) -> list[Pair]:
    """A run of every pair, once."""
    (folder / "bench.yaml").write_text(bench())
    words = [sys.executable, str(ROOT / "cli.py"), "run", "--config", str(folder / "bench.yaml")]
    ended = subprocess.run(
        [*words, "--results", str(folder / "results")],
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
    words = Counter(interval_verdict(pair.times) for pair in pairs)
    told = sum(pair.is_false for pair in pairs)
    cells = [load, len(pairs), words["about the same"], words["undecided"], words[DOUBTFUL], told]
    cells += [sum(pair.would_be_false for pair in pairs), f"{statistics.median(p.queued for p in pairs):.2f}"]
    return f"| {' | '.join(map(str, cells))} |"


def page(pairs: Mapping[int, list[Pair]]) -> str:
    """The table, with what it says of the threshold."""
    rows = "\n".join(row(load, own) for load, own in pairs.items())
    quiet = sorted(pair.queued for pair in pairs.get(0, ()))
    above = sum(queued > MOST_QUEUED for queued in quiet)
    said = f"On the quiet machine {above} of {len(quiet)} pairs were queued above {MOST_QUEUED:g}."
    return f"{HEAD}{rows}\n\n{said}\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20, help="of a pair of each kernel, for each load")
    parser.add_argument("--loads", type=int, nargs="*", default=LOADS, help="busy programs")
    parser.add_argument("--into", type=Path, help="a page, between whose marks the table is written")
    asked = parser.parse_args()
    pairs: dict[int, list[Pair]] = {load: [] for load in asked.loads}
    for load in asked.loads:
        for _ in range(asked.runs):
            with tempfile.TemporaryDirectory(prefix="seqsweep-load-") as home, busy(load):
                pairs[load] += measure(Path(home))
            for pair in pairs[load][-len(KERNELS) :]:
                print(
                    load, pair.kernel, *pair.times[:3], interval_verdict(pair.times), pair.queued, flush=True
                )
    said = page(pairs)
    print(said)
    if asked.into:
        write_between_marks(asked.into, said, "drill-load")
    told = sum(pair.is_false for own in pairs.values() for pair in own)
    raise SystemExit(0 if told <= 0.05 * sum(map(len, pairs.values())) else 1)


if __name__ == "__main__":
    main()
