"""Every option of every command changes something, or is refused: what each changes, and all refusals."""

import pytest
import typer

from harness.commands.app import app
from harness.commands.exit_codes import call_app
from harness.commands.flag_conflicts import ALL_MODELS, KERNEL, MODELS, conflicts
from harness.core.machine import usable_cores

EXCLUSIONS = {command: exclusions for command, (exclusions, _) in conflicts().items()}
NEEDS = {command: needs for command, (_, needs) in conflicts().items()}
COMMANDS = typer.main.get_command(app).commands
POINTS = {
    "--family": "cases", "--impl": "cases", "--seq": "cases", "--mode": "cases",
}  # fmt: skip
CASES = {
    **POINTS, "--set": "workloads", "--quick": "lengths and budgets", "--model": "workloads",
    "--tp": "workloads", "--phase": "workloads",
}  # fmt: skip
DEVICE = {"--device": "where cases run, or the records that are read"}
COMPILING = {
    "--timeout": "the limit of a step",
    "--memory": "what is skipped",
    "--threads": "cores of a case",
}
LIMITS = {**COMPILING, "--seed": "the inputs"}
SAMPLING = {
    "--baseline": "what speedups are relative to", "--budget": "sampling time",
    "--precision": "when sampling ends", "--replicates": "processes per case",
    "--resume": "which run goes on",
}  # fmt: skip
STORED = {**POINTS, **DEVICE}
RESULTS = {"--config": "suites, plugins, and the folder of results", "--results": "where runs are"}
CATALOG = {"--plugin": "implementations", "--config": "suites and plugins"}
PLACE = {**CATALOG, **RESULTS}
TABLES = {"--columns": "columns; with --json the roofs", "--notes": "footnotes; --json has all"}
WAIT = {"--wait": "waits for the device"}
STRICT = {"--strict": "the exit code"}
JSON = {"--json": "the output's form"}
SHARD = {
    "--shard": "which part is measured",
    "--on": "where it is measured; with --dry-run its name is checked",
}
PICKED = {"--run": "which run is read", "--baseline": "what speedups are relative to"}
CHANGES = {  # by command: option → what it changes
    "run": {
        **CASES, **DEVICE, **LIMITS, **SAMPLING, **SHARD, **PLACE, **TABLES, **WAIT, **STRICT, **JSON,
        "--dry-run": "nothing runs", "--figures": "cases are compiled", "--graphs": "what is timed",
    },
    "check": {**CASES, **DEVICE, **LIMITS, **SHARD, **PLACE, **WAIT, **STRICT, **JSON},
    "static": {
        **CASES, **COMPILING, **SHARD, **PLACE, **TABLES, **WAIT, **STRICT, **JSON,
        "--target": "what is compiled for", "--max-seq": "lengths are searched",
        "--kernels": "the page; --json has all", "--owners": "the page",
        "--against": "what figures are compared with", "--args": "the kernel's launch",
        "--grid": "the kernel's launch",
    },
    "profile": {
        **CASES, **DEVICE, **LIMITS, **PLACE, **WAIT, **JSON, "--ops": "operators", "--trace": "a file",
        "--budget": "sampling time", "--resume": "which profile goes on",
    },
    "sensitivity": {
        **CASES, **DEVICE, **LIMITS, **SAMPLING, **PLACE, **WAIT, **STRICT, **JSON,
        "--run": "a run is read, none is measured",
    },
    "gate": {
        **CASES, **DEVICE, **LIMITS, **PLACE, **WAIT, **JSON,
        "--against": "the base", "--cases": "cases", "--all": "cases", "--dry-run": "nothing runs",
        "--delta": "verdicts", "--max-pairs": "pairs", "--budget": "wall time", "--explain": "the output",
        "--last": "the newest gate is read", "--self-check": "the base", "--static": "what is compared",
        "--inconclusive": "the exit code", "--junit": "a file",
    },
    "show": {**STORED, **PICKED, **RESULTS, **TABLES, **JSON, "--record": "one record is printed"},
    "runs": {**RESULTS, **JSON, "--keep": "runs are deleted", "--dry-run": "nothing is deleted"},
    "compare": {
        **RESULTS, **JSON, "--impl": "the sides", "--force": "runs of different machines",
        "--run": "which runs are read", "--across": "machines are compared", "--out": "a file",
        "--notes": "cases of one side; --json has all",
    },
    "dispatch": {**STORED, **PICKED, **RESULTS, **JSON, "--inexact": "candidates", "--into": "a file"},
    "chart": {**STORED, **PICKED, **RESULTS, **JSON, "--out": "the folder", "--png": "files"},
    "report": {
        **RESULTS, **JSON, "--run": "which runs are read", "--into": "a file",
        "--check": "nothing is written", "--pr": "a receipt", "--chart": "the receipt's picture",
        "--html": "a file",
    },
    "collect": {**RESULTS, **JSON},
    "verify": {**PLACE, **WAIT, **JSON, "--limit": "wall time"},
    "export": {
        **STORED, **RESULTS, "--baseline": "what speedups are relative to", "--to": "the form",
        "--out": "a file", "--samples": "rows", "--static": "rows", "--kernels": "rows",
    },
    "list": {**CATALOG, **JSON, "--contracts": "the page; --json has all"},
    "new": {
        **CATALOG, **JSON, "--family": "a family is written", "--out": "the folder",
        "--framework": "the template",
    },
    "claims": {**PLACE, **JSON, "--shard": "which part is compiled", "--check": "nothing is written"},
    "doctor": {**PLACE, **JSON, "--roofline": "ceilings", "--on": "which machines are examined"},
}  # fmt: skip
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
    needed = {"--figures": ["--dry-run"]}.get(exclusion.mode, [])
    assert call_app(app, [command, *required(command, exclusion.mode, name), *words, *needed]) == 2
    err = capsys.readouterr().err
    assert " does not go with " in err
    assert err.count("\n") == 1
    alone = [each for each in EXCLUSIONS[command] if each.excludes(name) or name in words]
    assert any(f"{name} does not go with {each.mode}: {each.why}" in err for each in alone) or needed, err


@pytest.mark.parametrize(
    ("command", "need"),
    [(command, need) for command, needs in NEEDS.items() for need in needs],
    ids=lambda each: getattr(each, "flag", each),
)
def test_what_only_changes_something_with_another_flag_is_refused_alone(capsys, command, need):
    words = ["mask", "word"] if need.flag == "NAME" else typed(command, need.flag)
    assert call_app(app, [command, *required(command, need.flag), *words]) == 2
    assert f"{need.flag}: goes with {' or '.join(need.needed)}; {need.why}" in capsys.readouterr().err


def test_the_table_names_what_exists():
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
COUNTED = {"--set", "--model", "--device", "--tp", "--phase"}  # the text has numbers of values, JSON has ids


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("name", PLANNED)
def test_a_plan_shows_what_an_option_changes(capsys, tmp_path, name, form):
    (tmp_path / "bench.yaml").write_text(BENCH)

    def plan(*words):
        code = call_app(app, ["run", "--dry-run", "--config", str(tmp_path / "bench.yaml"), *form, *words])
        said = capsys.readouterr()
        return code, said.out, said.err

    value, *others = PLANNED[name] or [None]
    changed = plan(name, *([value] if value else []), *others)
    assert (changed != plan(*others)) or (not form and name in COUNTED)


@pytest.mark.parametrize("words", [["--tp", "8"], ["--phase", "decode"]], ids=" ".join)
def test_devices_and_phases_are_of_a_model(capsys, tmp_path, words):
    (tmp_path / "bench.yaml").write_text(BENCH)
    assert call_app(app, ["run", "--dry-run", "--config", str(tmp_path / "bench.yaml"), *words]) == 2
    assert f"{words[0]}: " in capsys.readouterr().err
