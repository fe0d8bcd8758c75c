"""Owners of every jax implementation's peak, counted: `make drill-owners`.

Each is compiled for the host and for devices that are not at hand. A line per target says how many owners
are the plan to the byte, and how many curves are as high as the buffers at the peak. It ends with 1 where
fewer than 80 % are exact, where one is off by more than 5 %, or where nothing has owners.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from harness.catalog.discovery import builtin
from harness.core.peak_owners import Owners
from harness.core.plain_data import from_plain

ROOT = Path(__file__).resolve().parents[3]
EXACT, OFF, NEAR = 0.8, 0.05, 0.02
PATIENT = ("--timeout", "4m")  # products in f32 take libtpu minutes, where others use the machine, too


def owners_by_target(targets, seqs, only):
    """[(owners or None, the reason or the case)] by target."""
    found = defaultdict(list)
    for family in builtin().families:
        ids = [info.id for info in builtin().of_family(family) if info.framework == "jax"]
        ids = [name for name in ids if not only or name in only]
        if not ids:
            continue
        with tempfile.TemporaryDirectory() as results:
            words = ["static", *ids, "--seq", seqs, "--target", targets, "--owners", "--json", *PATIENT]
            done = subprocess.run(
                [sys.executable, str(ROOT / "cli.py"), *words, "--results", results],
                stdout=subprocess.PIPE,
                check=False,
            )
        for record in json.loads(done.stdout)["records"]:
            for target, figures in record["static"].items():
                # what is refused has no plan; what has one, and no owners, has a reason
                if figures["temp_bytes"] is not None:
                    owners = figures["owners"]
                    found[target].append((owners and from_plain(Owners, owners), record["case"]))
                elif record["status"] == "ok":  # on another target
                    print(f"{target} {record['case']}: no plan: {figures['unavailable']['temp_bytes']}")
    return found


def line_of(target, found):
    """(the line, whether enough is exact)."""
    known = [owners for owners, _ in found if owners]
    exact = sum(owners.exact for owners in known)
    share = [abs(owners.difference_bytes) / (owners.peak_bytes or 1) for owners in known]
    near = sum(abs(owners.curve_difference) <= NEAR for owners in known)
    far = 100 * max(share, default=0)
    line = f"| {target} | {exact} of {len(found)} | {far:.2g} % | {near} of {len(known)} |"
    return line, bool(known) and exact >= EXACT * len(found) and max(share) <= OFF


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help="implementations; none: all of jax")
    parser.add_argument("--target", default="host,tpu:v5p,cuda:h200")
    parser.add_argument("--seq", default="1Ki,4Ki")
    asked = parser.parse_args()
    found = owners_by_target(asked.target, asked.seq, asked.only)
    lines = [line_of(target, found[target]) for target in asked.target.split(",")]
    print("| target | exact | farthest from the plan | curves within 2 % of the buffers |")
    print("| --- | ---: | ---: | ---: |")
    print("\n".join(line for line, _ in lines))
    for target, each in found.items():
        for owners, case in each:
            if owners is None or not owners.exact:
                print(
                    f"{target} {case}: {f'{owners.difference_bytes} B' if owners else 'nobody owns the peak'}"
                )
    return 0 if all(enough for _, enough in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
