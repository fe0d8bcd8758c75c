"""The composite action: what a workflow's step leaves, with a `seqsweep` that says what it is told."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

CI = Path(__file__).resolve().parents[1] / "docs" / "ci"
ACTION = yaml.safe_load((CI / "action.yml").read_text(encoding="utf-8"))
FAKE = """#!{python}
import json, os, pathlib, sys
words = sys.argv[1:]
home = pathlib.Path(os.environ["FAKE"])
with (home / "asked").open("a") as file:
    file.write(json.dumps(words) + "\\n")
state = home / "state"
if words[0] in ("run", "gate"):
    if "stores" in words:
        state.write_text(str(int(state.read_text() if state.exists() else 0) + 1))
        if words[0] == "gate":
            pathlib.Path(os.environ["GITHUB_STEP_SUMMARY"]).write_text("### Gate: regressed\\n")
    print("in the log")
    sys.exit(int(os.environ["CODE"]))
if words[0] == "runs":
    print(json.dumps({{"runs": [{{"run": "r", "cases": state.read_text()}}] if state.exists() else []}}))
elif words[0] == "chart":
    folder = pathlib.Path(words[words.index("--out") + 1])
    folder.mkdir(parents=True)
    (folder / "mask.svg").write_text("<svg/>")
elif words[0] == "report":
    print(os.environ.get("RECEIPT", "")) if os.environ.get("RECEIPT") else sys.exit(2)
elif "--json" in words:
    print(json.dumps({{"schema": 1}}))
else:
    print("seq ``` time")
"""


@pytest.fixture
def step(tmp_path):
    """Run the script as the step does; its exit code and what it left."""
    program = tmp_path / "bin" / "seqsweep"
    program.parent.mkdir()
    program.write_text(FAKE.format(python=sys.executable))
    program.chmod(0o755)

    def run(command, arguments="stores", code=0, **variables):
        told = {
            "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
            "RUNNER_TEMP": str(tmp_path / "temp"),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
            "GITHUB_OUTPUT": str(tmp_path / "output"),
            "SEQSWEEP_COMMAND": command,
            "SEQSWEEP_ARGUMENTS": arguments,
            "FAKE": str(tmp_path),
            "CODE": str(code),
        }
        script = [sys.executable, str(CI / "action.py")]
        done = subprocess.run(script, env={**told, **variables}, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode

    run.left = tmp_path / "temp" / "seqsweep"
    run.summary = tmp_path / "summary"
    run.asked = lambda: [yaml.safe_load(line) for line in (tmp_path / "asked").read_text().splitlines()]
    run.outputs = lambda: dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
    return run


def test_a_run_leaves_summary_comment_charts_and_itself(step):
    assert (
        step("run", "mask 'stores' --seq '4Ki, 8Ki'", SEQSWEEP_RESULTS="kept", RECEIPT="### mask\n\n| a |")
        == 0
    )
    assert step.asked()[1] == ["run", "mask", "stores", "--seq", "4Ki, 8Ki", "--results", "kept"]
    assert all(words[-2:] == ["--results", "kept"] for words in step.asked())
    assert step.summary.read_text() == "### mask\n\n| a |\n"
    assert (step.left / "comment.md").read_text() == f"<!-- seqsweep run -->\n{step.summary.read_text()}"
    assert (step.left / "charts/mask.svg").is_file()
    assert (step.left / "run.json").read_text() == '{"schema": 1}\n'
    assert step.outputs() == {
        "exit-code": "0",
        "comment": str(step.left / "comment.md"),
        "folder": str(step.left),
    }


def test_without_a_receipt_the_tables_are_in_a_fenced_block(step):
    assert step("run", code=4) == 4
    assert step.summary.read_text() == "### seqsweep run r\n\n````\nseq ``` time\n````\n"


def test_an_older_run_is_not_taken_for_this_one(step):
    assert step("run") == 0
    step.summary.unlink()
    assert step("run", "--unknown", code=2) == 2
    assert step.summary.read_text().endswith(
        "It ended with exit code 2 and stored nothing; the log says why.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "says"), [("stores", "### Gate: regressed\n"), ("", "exit code 1 and stored")]
)
def test_a_gate_writes_its_own_summary(step, arguments, says):
    assert step("gate", arguments, code=1) == 1
    assert says in step.summary.read_text()
    assert says in (step.left / "comment.md").read_text()
    assert [words[0] for words in step.asked()] == ["gate"]


def test_a_comment_is_no_longer_than_one_may_be(step):
    line = "<details><summary>x</summary>\n" + "word\n" * 20_000
    step("run", RECEIPT=line)
    comment = (step.left / "comment.md").read_text()
    assert len(comment) < 65_536 < len(step.summary.read_text())
    assert comment.endswith("word\n</details>\n\nThe rest is in the job's summary.\n")


def test_invalid_inputs_run_nothing(step):
    assert step("claims; rm", "") == step("run", "'open") == 2
    assert not step.summary.exists()


def test_inputs_reach_the_script_as_variables():
    measure, keep = ACTION["runs"]["steps"]
    assert "${{" not in measure["run"]
    script = (CI / "action.py").read_text()
    assert set(measure["env"]) == {"SEQSWEEP_COMMAND", "SEQSWEEP_ARGUMENTS", "SEQSWEEP_RESULTS"}
    assert all(f'"{name}"' in script for name in measure["env"])
    assert keep["uses"].startswith("actions/upload-artifact@v")
    assert "!cancelled()" in keep["if"]
    assert all(f"{name}=" in script for name in ACTION["outputs"])
