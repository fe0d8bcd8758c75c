"""Test the gate and record its verdicts: python docs/gate/evidence.py aa | injected | neighbours | summary.

Every gate is a line of docs/gate/<drill>.jsonl; a drill that was stopped continues there. The plugin
(drill.py) is in a temporary git repository made for this: the base is its first commit, and the injected
slowdown is an edit of the working tree.
"""

import argparse
import json
import multiprocessing
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
GATES = {"aa": 25, "injected": 20, "neighbours": 9}
# In turns, so that each kernel gets each share; the other two kernels are not changed.
INJECTED = ({"matmul": 0.10, "softmax": 0.05}, {"attend": 0.10, "select": 0.05})
NEIGHBOURS = 2
STREAM_BYTES = 256 * 2**20


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("drill", choices=[*GATES, "summary"])
    parser.add_argument("--gates", type=int, help="total number of gates")
    given = parser.parse_args()
    if given.drill == "summary":
        print(summary())
        return
    file = HERE / f"{given.drill}.jsonl"
    done = len(read(file))
    with neighbours(NEIGHBOURS if given.drill == "neighbours" else 0):
        for number in range(done, given.gates or GATES[given.drill]):
            line = injected(number) if given.drill == "injected" else gate("--self-check")
            with file.open("a") as out:
                out.write(json.dumps({"gate": number, **line}) + "\n")
            print(f"{given.drill} {number + 1}: {Counter(case['verdict'] for case in line['cases'])}")


def injected(number):
    """A gate of a working tree with kernels that do more work than the committed ones."""
    extra = INJECTED[number % len(INJECTED)]
    with tempfile.TemporaryDirectory() as folder:
        plugin = Path(folder) / "drill.py"
        plugin.write_text((HERE / "drill.py").read_text())
        for words in (["init", "-q"], ["add", "drill.py"], ["commit", "-qm", "Kernels without extra work"]):
            who = ["-c", "user.name=drill", "-c", "user.email=drill@example.org"]
            subprocess.run(["git", *who, *words], cwd=folder, check=True)
        text = plugin.read_text()
        for kernel, share in extra.items():
            assert f'"{kernel}": 0.0' in text
            text = text.replace(f'"{kernel}": 0.0', f'"{kernel}": {share}')
        plugin.write_text(text)
        line = gate("--against", "git:HEAD", "--seq", "400", plugin=plugin)
    return {"extra": extra, **line}


def gate(*words, plugin=HERE / "drill.py"):
    """Run one gate by the command line, as a user would; return the recorded part of its answer."""
    command = [sys.executable, str(HERE.parents[1] / "cli.py"), "gate", "drill", *words, "--json"]
    with tempfile.TemporaryDirectory() as results:
        places = ["--config", HERE / "bench.yaml", "--plugin", plugin, "--results", results]
        start = time.monotonic()
        done = subprocess.run(
            [*command, *places], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
        )
        took = time.monotonic() - start
    answer = json.loads(done.stdout)
    kept = ("case", "verdict", "effect", "low", "high", "pairs", "reason")
    cases = [{name: case[name] for name in kept} for case in answer["cases"]]
    return {"exit": done.returncode, "wall_s": round(took, 1), "cases": cases, "notes": answer["notes"]}


@contextmanager
def neighbours(count):
    """Run this many processes that stream through memory meanwhile."""
    busy = [multiprocessing.Process(target=stream, daemon=True) for _ in range(count)]
    for process in busy:
        process.start()
    try:
        yield
    finally:
        for process in busy:
            process.terminate()


def stream():
    source, target = bytearray(STREAM_BYTES), bytearray(STREAM_BYTES)
    while True:
        target[:] = source


def read(file):
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def summary():
    """The drills so far, as a Markdown table."""
    rows = ["| drill | gates | verdicts | seconds per gate, median (longest) |", "| --- | --- | --- | --- |"]
    for name, lines in ((drill, read(HERE / f"{drill}.jsonl")) for drill in GATES):
        for what, found in groups(name, lines).items():
            verdicts = ", ".join(f"{count} {verdict}" for verdict, count in Counter(found).most_common())
            walls = [line["wall_s"] for line in lines]
            seconds = f"{statistics.median(walls):.0f} ({max(walls):.0f})"
            rows.append(f"| {what} | {len(lines)} | {verdicts} | {seconds} |")
    return "\n".join(rows)


def groups(name, lines):
    """Verdicts by what was injected into their case."""
    found = {}
    for line in lines:
        for case in line["cases"]:
            kernel = case["case"].partition("/")[2].partition("@")[0]
            share = line.get("extra", {}).get(kernel, 0.0)
            found.setdefault(f"{name}, {100 * share:+.0f} %" if share else name, []).append(case["verdict"])
    return found


if __name__ == "__main__":
    main()
