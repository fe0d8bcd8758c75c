"""How long `static` takes on two Ray nodes of one core each, beside the pool of two cores: a script.

`python -m tests.machines.static_on_nodes` compiles every JAX implementation of a family at eight lengths for
four targets, with empty caches, once here and once on nodes that are up already. It prints both times and
their ratio, and ends with 1 where the figures are not the same or the ratio is more than LIMIT.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from harness.catalog import discovery
from harness.core.static_figures import Static
from harness.store.find import all_runs
from tests.machines.local_nodes import local_nodes

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 1.15
TARGETS = "host,tpu:v5p,tpu:v6e,tpu:v5e"
SEQS = "3Ki,4Ki,6Ki,8Ki,16Ki,32Ki,64Ki,128Ki"  # beyond the 2Ki columns that a mask opens by default
POOL = """\
machines:
  pool: {{address: "{address}", labels: {{role: measures}}}}
"""
# One thread on both sides: what the host's compiler plans depends on it.
SUITE = """\
defaults: {{threads: 1}}
suites:
  {family}: {{family: {family}, seq: [{seqs}], impls: [{impls}]}}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--family", default="mask")
    parser.add_argument("--seq", default=SEQS)
    parser.add_argument("--target", default=TARGETS)
    parser.add_argument("--impl", help="only these, with commas between; else all in JAX")
    asked = parser.parse_args()
    impls = asked.impl or ",".join(_in_jax(asked.family))
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        parser.error("two nodes of one core each need two cores")
    os.sched_setaffinity(0, cores)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        words = ["static", asked.family, "--target", asked.target]
        suite = SUITE.format(family=asked.family, seqs=asked.seq, impls=impls)
        here_s = _seconds(words, folder / "here", suite)
        with local_nodes(folder, [{"PYTHONPATH": str(ROOT)}] * 2, cores) as (cluster, _):
            bench = POOL.format(address=cluster.address) + suite
            nodes_s = _seconds([*words, "--on", "pool"], folder / "nodes", bench)
        here, nodes = (_figures(folder / name / "results") for name in ("here", "nodes"))
    ratio = nodes_s / here_s
    print(f"{sum(map(len, here.values()))} sets of figures; nodes / here = {ratio:.3f}, at most {LIMIT}")
    if here != nodes:
        unlike = sorted(case for case in here.keys() | nodes.keys() if here.get(case) != nodes.get(case))
        print(f"not the same figures: {', '.join(unlike)}")
    return int(here != nodes or ratio > LIMIT)


def _in_jax(family: str) -> list[str]:
    known = discovery.catalog().implementations.values()
    return sorted(info.id for info in known if info.framework == "jax" and info.id.startswith(f"{family}/"))


def _seconds(words: Sequence[str], folder: Path, bench: str) -> float:
    """Wall time of a command, in a new folder with nothing but this bench.yaml."""
    temporary = folder / "tmp"
    temporary.mkdir(parents=True)
    (folder / "bench.yaml").write_text(bench)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)}
    start = time.monotonic()
    with (folder / "out.txt").open("w") as out:
        code = subprocess.run(
            [sys.executable, str(ROOT / "cli.py"), *words],
            cwd=folder,
            env=environment,
            stdout=out,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode
    took = time.monotonic() - start
    if code:
        sys.exit(f"seqsweep {' '.join(words)} ended with {code}:\n{(folder / 'out.txt').read_text()[-4000:]}")
    print(f"{folder.name}: {took:.1f} s", flush=True)
    return took


def _figures(results: Path) -> dict[str, Mapping[str, Static]]:
    """Case → target → what its compiler says, but for the seconds that it took."""
    return {
        record.case: {
            target: replace(static, lower_s=None, compile_s=None) for target, static in record.static.items()
        }
        for folder in all_runs(results)
        for record in folder.read().records
    }


if __name__ == "__main__":
    sys.exit(main())
