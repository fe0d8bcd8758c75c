"""Help, version and completion: light, plain, and true."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from harness.commands.app import app
from harness.commands.sectioned_command import examples
from harness.core.version import VERSION
from tests.goldens import assert_golden, scenes

ROOT = Path(__file__).resolve().parents[2]
GROUP = typer.main.get_command(app)
EXAMPLES = examples()


def call(*words, **environment):
    return subprocess.run(
        [sys.executable, str(ROOT / "cli.py"), *words],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def helped(name):
    command = GROUP.commands[name]
    return command.get_help(typer.Context(command, info_name=f"seqsweep {name}", terminal_width=100))


@pytest.mark.parametrize("words", [[], ["run"]], ids=" ".join)
def test_h_is_the_same_as_help(words):
    short, long = call(*words, "-h"), call(*words, "--help")
    assert (short.returncode, short.stdout, short.stderr) == (0, long.stdout, "")
    assert "-h, --help" in short.stdout
    assert short.stdout.startswith(f"Usage: {' '.join(['seqsweep', *words])} ")


def test_version():
    done = call("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"seqsweep {VERSION}\n", "")


def test_the_list_of_commands_does_not_cut_sentences():
    page = GROUP.get_help(typer.Context(GROUP, info_name="seqsweep", terminal_width=80))
    assert "..." not in page.partition("Commands:")[2]


def test_the_help_of_every_command_equals_the_golden_file():
    """A section per group of options, each flag in its own, and the examples at the end."""
    assert EXAMPLES.keys() == GROUP.commands.keys()
    assert_golden("help.txt", scenes({name: helped(name) for name in sorted(GROUP.commands)}))


@pytest.mark.parametrize("line", [line for lines in EXAMPLES.values() for line in lines])
def test_an_example_parses(line):
    program, name, *words = shlex.split(line)
    assert program == "seqsweep"
    with GROUP.commands[name].make_context(name, words, parent=typer.Context(GROUP)) as context:
        assert not context.args


def test_completion_names_commands_and_flags():
    ask = {"_SEQSWEEP_COMPLETE": "complete_bash"}
    commands = call(COMP_WORDS="seqsweep ch", COMP_CWORD="1", **ask)
    assert (commands.returncode, commands.stdout.split(), commands.stderr) == (0, ["check", "chart"], "")
    flags = call(COMP_WORDS="seqsweep run --re", COMP_CWORD="2", **ask)
    assert (flags.returncode, flags.stdout.split()) == (0, ["--replicates", "--resume", "--results"])
