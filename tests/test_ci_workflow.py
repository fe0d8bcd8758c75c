"""The workflow that users copy: it parses, asks for no rights, and types only what exists."""

import re
import shlex
from pathlib import Path

import pytest
import typer.main
import yaml

from harness.commands.app import app
from harness.gate.outcome import EXIT_CODES

CI = Path(__file__).resolve().parents[1] / "docs" / "ci"
TEXT = (CI / "github.yml").read_text(encoding="utf-8")
README = (CI / "README.md").read_text(encoding="utf-8")
WORKFLOW = yaml.safe_load(TEXT)
JOBS = WORKFLOW["jobs"]
STEPS = [step for job in JOBS.values() for step in job["steps"]]

GATE, RUN = (typer.main.get_command(app).commands[name] for name in ("gate", "run"))


def gates(text: str) -> list[list[str]]:
    """The words behind every `seqsweep gate` of a script."""
    joined = text.replace("\\\n", " ")
    return [shlex.split(line)[2:] for line in joined.splitlines() if line.strip().startswith("seqsweep gate")]


COMMANDS = [words for step in STEPS for words in gates(step.get("run", ""))]


def test_the_flags_exist():
    """Those of the workflow, and those that the page beside it names."""
    assert len(COMMANDS) == 4
    for words in COMMANDS:
        with GATE.make_context("gate", list(words)) as context:
            assert not context.args
    with pytest.raises(
        Exception, match="No such option: --max-pair"
    ):  # one that does not exist would be found
        GATE.make_context("gate", ["mask", "--max-pair", "3"])
    named = set(re.findall(r"--[a-z][a-z-]*", README))
    assert named
    assert named <= {name for command in (GATE, RUN) for flag in command.params for name in flag.opts}


def test_the_sentinels_words_exist_and_its_python_has_the_newest_jax():
    (job,) = yaml.safe_load((CI / "sentinel.yml").read_text(encoding="utf-8"))["jobs"].values()
    words = shlex.split(next(step["run"] for step in job["steps"] if step.get("id") == "compare"))
    *words, redirected, file = words
    assert (words[:3], redirected) == (["new/bin/python", "cli.py", "static"], ">")
    with typer.main.get_command(app).commands["static"].make_context("static", words[3:]) as context:
        assert context.params["against"] == "py:old"
        assert f"head -c 60000 {file}" in job["steps"][-1]["run"]
    version = next(step["with"]["python-version"] for step in job["steps"] if "with" in step)
    assert tuple(map(int, version.split("."))) >= (3, 12)  # jax 0.11 and later have no release for 3.11


def test_it_reads_pull_requests_without_the_repositorys_rights():
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert not any("permissions" in job for job in JOBS.values())
    assert "secrets." not in TEXT
    triggers = WORKFLOW[True]  # YAML 1.1 reads `on` as a truth value
    assert set(triggers) == {"pull_request", "schedule", "workflow_dispatch"}
    assert not any("${{" in step.get("run", "") for step in STEPS), "no event's expression reaches a shell"
    used = [step["uses"] for step in STEPS if "uses" in step]
    assert used
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", action) for action in used)


@pytest.mark.parametrize("job", JOBS)
def test_the_clone_has_the_merge_base_and_the_evidence_is_kept_after_a_failure_too(job):
    checkout, *_, last = JOBS[job]["steps"]
    assert checkout["uses"].startswith("actions/checkout@")
    assert checkout["with"]["fetch-depth"] == 0
    assert last["with"]["path"] == "results/gates"
    assert "!cancelled()" in last["if"]


def test_only_the_pull_request_is_lenient():
    lenient = [words for words in COMMANDS if "warn" in words]
    assert len(lenient) == 1
    assert lenient[0] in [
        words for step in JOBS["pull-request"]["steps"] for words in gates(step.get("run", ""))
    ]


def test_every_exit_code_of_a_verdict_is_explained():
    explained = {int(code) for code in re.findall(r"^\| (\d+) \|", README, re.MULTILINE)}
    assert explained == {0, 1, 2, 3, 4, 5, 130}
    assert set(EXIT_CODES.values()) <= explained
