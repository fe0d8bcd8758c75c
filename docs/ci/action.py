"""The one step of action.yml: run a sweep or a gate, and write its summary, comment and charts.

It reads SEQSWEEP_COMMAND (run or gate), SEQSWEEP_ARGUMENTS (as on a command line) and SEQSWEEP_RESULTS. It
writes to $RUNNER_TEMP/seqsweep: comment.md, which is also the job's summary, and for a run its charts and
run.json. It ends with the command's own exit code.
"""

import os
import shlex
import subprocess
import sys
from json import loads
from pathlib import Path

COMMANDS = ("run", "gate")
LONGEST_COMMENT = 60_000  # characters; GitHub accepts 65 536


def main() -> int:
    command = os.environ.get("SEQSWEEP_COMMAND", "run")
    if command not in COMMANDS:
        print(f"command: {command} is not one of {', '.join(COMMANDS)}", file=sys.stderr)
        return 2
    try:
        words = shlex.split(os.environ.get("SEQSWEEP_ARGUMENTS", ""))
    except ValueError as error:
        print(f"arguments: {error}; close the quote", file=sys.stderr)
        return 2
    folder = Path(os.environ.get("RUNNER_TEMP", "."), "seqsweep").absolute()
    folder.mkdir(parents=True, exist_ok=True)
    code, body = gate(words, folder) if command == "gate" else sweep(words, folder)
    body = (
        body
        or f"### seqsweep {command}\n\nIt ended with exit code {code} and stored nothing; the log says why.\n"
    )
    comment = folder / "comment.md"
    comment.write_text(f"<!-- seqsweep {command} -->\n{shorten(body)}", encoding="utf-8")
    append("GITHUB_STEP_SUMMARY", body)
    append("GITHUB_OUTPUT", f"exit-code={code}\ncomment={comment}\nfolder={folder}\n")
    return code


def gate(words: list[str], folder: Path) -> tuple[int, str]:
    """The exit code of a gate, and the page that it writes itself."""
    page = folder / "gate.md"
    page.unlink(missing_ok=True)
    code = call(["gate", *words, *place()], GITHUB_STEP_SUMMARY=str(page)).returncode
    return code, page.read_text(encoding="utf-8") if page.exists() else ""


def sweep(words: list[str], folder: Path) -> tuple[int, str]:
    """The exit code of a run, and its report in Markdown; empty if it stored nothing."""
    before = newest()
    code = call(["run", *words, *place()]).returncode
    summary = newest()
    if summary == before:  # a resumed run has more cases than before
        return code, ""
    run = str(summary["run"])
    call(["chart", "--run", run, "--out", str(folder / "charts"), *place()])
    if stored := ask(["show", "--run", run, "--json", *place()]):
        (folder / "run.json").write_text(stored, encoding="utf-8")
    return code, ask(["report", "--run", run, "--pr", *place()]) or tables(run)


def tables(run: str) -> str:
    """The tables of a run as a block of code, with a fence longer than any in the text."""
    text = ask(["show", "--run", run, *place()])
    fence = "`" * 3
    while fence in text:
        fence += "`"
    return f"### seqsweep run {run}\n\n{fence}\n{text}{fence}\n"


def newest() -> dict[str, object]:
    """The newest stored run in short, as printed by `seqsweep runs --json`; empty if there is none."""
    runs = loads(ask(["runs", "--json", *place()]) or '{"runs": []}')["runs"]
    return runs[0] if runs else {}


def shorten(text: str) -> str:
    """The text, cut to the lines that fit into a comment."""
    if len(text) <= LONGEST_COMMENT:
        return text
    kept = text[:LONGEST_COMMENT].rpartition("\n")[0]
    ends = "\n</details>" * (kept.count("<details>") - kept.count("</details>"))
    return f"{kept}{ends}\n\nThe rest is in the job's summary.\n"


def place() -> list[str]:
    results = os.environ.get("SEQSWEEP_RESULTS")
    return ["--results", results] if results else []


def call(words: list[str], **variables: str) -> subprocess.CompletedProcess[bytes]:
    """Run `seqsweep` with these arguments; its output goes into the log."""
    return subprocess.run(["seqsweep", *words], env={**os.environ, **variables}, check=False)


def ask(words: list[str]) -> str:
    """The output of `seqsweep`; empty if it fails."""
    done = subprocess.run(["seqsweep", *words], stdout=subprocess.PIPE, check=False)
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""


def append(variable: str, text: str) -> None:
    """Append to the file that an environment variable names, if it is set."""
    if path := os.environ.get(variable):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    sys.exit(main())
