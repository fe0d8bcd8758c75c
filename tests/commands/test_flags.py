"""Every option of every command changes something, or is refused: what each changes, and all refusals."""

import tomllib
from pathlib import Path

import pytest
import typer

from harness.commands.app import app
from harness.commands.exit_codes import call_app
from harness.commands.sectioned_command import ALL_MODELS, KERNEL, MODELS, conflicts
from harness.core.machine import usable_cores

EXCLUSIONS = {command: exclusions for command, (exclusions, _) in conflicts().items()}
NEEDS = {command: needs for command, (_, needs) in conflicts().items()}
COMMANDS = typer.main.get_command(app).commands
CHANGES = tomllib.loads(Path(__file__).with_name("flags.toml").read_text("utf-8"))
VALUES = {"--replicates": "2", "--max-pairs": "8", "--keep": "3", "--to": "csv"}
WORDS = {KERNEL: ["mine.py::kernel"], MODELS: ["models", "kimi-k2"], ALL_MODELS: ["models"]}


def options_of(command):
    return [param for param in COMMANDS[command].params if param.param_type_name == "option"]


def typed(command, name):
    """The words that give an option, an argument or a mode."""
    if name in WORDS:
        return WORDS[name]
    if name.isupper():
        return ["word"]
    (param,) = [param for param in options_of(command) if name in param.opts]
    return [name] if param.is_flag else [name, VALUES.get(name, "x1")]


def required(command, *given):
    """Words for the arguments and options that a command cannot do without."""
    words = []
    for param in COMMANDS[command].params:
        if param.required and not {*param.opts, param.name.upper()} & {*given}:
            words += ["word"] if param.param_type_name == "argument" else typed(command, param.opts[0])
    return words


def names_of(command):
    """Everything that may be given: options, and arguments in capitals."""
    arguments = [
        param.name.upper() for param in COMMANDS[command].params if param.param_type_name == "argument"
    ]
    return [name for param in options_of(command) for name in param.opts] + arguments


@pytest.mark.parametrize("command", COMMANDS)
def test_what_each_option_changes_is_declared(command):
    assert sorted(name for param in options_of(command) for name in param.opts) == sorted(CHANGES[command])


REFUSALS = [
    (command, exclusion, name)
    for command, exclusions in EXCLUSIONS.items()
    for exclusion in exclusions
    for name in names_of(command)
    if exclusion.excludes(name) and not (name.isupper() and exclusion.mode in WORDS)
]


@pytest.mark.parametrize(
    ("command", "exclusion", "name"), REFUSALS, ids=lambda each: getattr(each, "mode", each)
)
def test_what_a_mode_would_ignore_is_refused(capsys, command, exclusion, name):
    words = [*typed(command, exclusion.mode), *typed(command, name)]
    assert call_app(app, [command, *required(command, exclusion.mode, name), *words]) == 2
    err = capsys.readouterr().err
    assert " cannot be combined with " in err
    assert err.count("\n") == 1
    alone = [each for each in EXCLUSIONS[command] if each.excludes(name) or name in words]
    assert any(f"{name} cannot be combined with {each.mode}: {each.why}" in err for each in alone), err


@pytest.mark.parametrize(
    ("command", "need"),
    [(command, need) for command, needs in NEEDS.items() for need in needs],
    ids=lambda each: getattr(each, "flag", each),
)
def test_a_flag_that_needs_another_is_refused_without_it(capsys, command, need):
    words = ["mask", "word"] if need.flag == "NAME" else typed(command, need.flag)
    assert call_app(app, [command, *required(command, need.flag), *words]) == 2
    assert f"{need.flag} needs {' or '.join(need.needed)}: {need.why}" in capsys.readouterr().err


def test_the_table_names_existing_flags():
    for command, exclusions in EXCLUSIONS.items():
        known = {*names_of(command), *WORDS}
        for each in exclusions:
            assert {each.mode, *each.refused.split(), *each.taken.split()} <= known, each
            assert bool(each.refused) != bool(each.taken)
    for command, needs in NEEDS.items():
        assert {name for need in needs for name in (need.flag, *need.needed)} <= {*names_of(command), *WORDS}


BENCH = """\
suites:
  mask: {family: mask, seq: [256, 512], rows: 4, topk: 32, baseline: broadcast, impls: [broadcast, scatter]}
  topk: {family: topk, seq: [512], rows: 4, topk: 16, baseline: exact, impls: [exact]}
"""
PLANNED = {
    "--family": ["mask"], "--impl": ["scatter"], "--seq": ["512"], "--mode": ["bwd"], "--set": ["rows=8"],
    "--quick": [], "--model": ["glm-5"], "--device": ["cuda"], "--timeout": ["30s"], "--memory": ["1GiB"],
    "--threads": ["1" if usable_cores() > 1 else "2"], "--seed": ["7"],
    "--baseline": ["mask/scatter"], "--budget": ["1s"],
    "--precision": ["9%"], "--replicates": ["3"], "--shard": ["1/2"],
    "--tp": ["8", "--model", "glm-5"], "--phase": ["decode", "--model", "glm-5"],
}  # fmt: skip


@pytest.mark.parametrize("name", PLANNED)
def test_a_plan_shows_what_an_option_changes(capsys, tmp_path, name):
    (tmp_path / "bench.yaml").write_text(BENCH)

    def plan(*words):
        code = call_app(app, ["run", "--dry-run", "--config", str(tmp_path / "bench.yaml"), "--json", *words])
        said = capsys.readouterr()
        return code, said.out, said.err

    value, *others = PLANNED[name] or [None]
    changed = plan(name, *([value] if value else []), *others)
    assert changed != plan(*others)
