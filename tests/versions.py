"""The quick tests under the oldest and the newest torch and jax that pyproject.toml admits, by uv.

    python tests/versions.py --python 3.11 3.13

A Python that uv neither finds nor can download is named by its path. A line of docs/testing.md's table per
environment; 1 where a test fails, or an environment cannot be made. Environments stay in build/versions/.
"""

import argparse
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "build/versions"
BOUNDED = ("torch", "jax", "jaxlib")
FOLDERS = ("core", "store", "catalog", "sweep", "analysis", "xla", "worker", "impls")
SAY = (
    "import platform; from importlib.metadata import version; "
    "print(platform.python_version(), *map(version, ('torch', 'jax')), sep=' | ')"
)


def lowest():
    """`torch==2.8` and the like, of the lower bounds."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    bounds = dict(line.split(">=", 1) for line in (*extras["torch"], *extras["jax"]))
    return [f"{name}=={bounds[name].partition(',')[0]}" for name in BOUNDED]


def make(python, which):
    """The interpreter of an environment with these versions."""
    place = PLACE / f"{which}-{python.strip('/').replace('/', '-')}"
    interpreter = place / "bin/python"
    if not interpreter.exists():
        subprocess.run(["uv", "venv", "--quiet", "--python", python, place], check=True)
    pins = lowest() if which == "oldest" else ["--upgrade"]
    words = ["uv", "pip", "install", "--quiet", "--python", interpreter, "-e", ".[all,dev]", *pins]
    subprocess.run(words, check=True, cwd=ROOT)
    return interpreter


def run_tests(interpreter, words):
    """`3120 passed, 2 failed, 4 skipped`, and whether none failed."""
    report = interpreter.parents[1] / "tests.xml"
    report.unlink(missing_ok=True)
    folders = [f"tests/{name}" for name in FOLDERS]
    subprocess.run(
        [interpreter, "-m", "pytest", "-q", "-n", "logical", "-m", "not full and not long",
         f"--junit-xml={report}", *folders, *words],
        cwd=ROOT, check=False,
    )  # fmt: skip
    (suite,) = ET.parse(report).getroot().iter("testsuite")
    count = {name: int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped")}
    failed = count["failures"] + count["errors"]
    passed = count["tests"] - failed - count["skipped"]
    return f"{passed} passed, {failed} failed, {count['skipped']} skipped", not failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", nargs="+", default=["3.11", "3.13"])
    parser.add_argument("--which", nargs="+", default=["oldest", "newest"], choices=["oldest", "newest"])
    asked, words = parser.parse_known_args()
    rows, good = [], True
    for python, which in product(asked.python, asked.which):
        try:
            interpreter = make(python, which)
        except subprocess.CalledProcessError:  # uv has said why
            rows.append(f"| {which} | {python} | | | no environment; give --python an interpreter's path |")
            good = False
            continue
        versions = subprocess.run([interpreter, "-c", SAY], check=True, capture_output=True, text=True)
        said, whole = run_tests(interpreter, words)
        good &= whole
        rows.append(f"| {which} | {versions.stdout.strip()} | {said} |")
    print("| | Python | torch | jax | tests |\n| --- | --- | --- | --- | --- |", *rows, sep="\n")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
