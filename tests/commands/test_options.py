"""The groups of options: which flags a command takes, and what the layers below get of them."""

from pathlib import Path

import pytest
import typer.main

from harness.commands import gate_options, measuring_options, options, stored_options
from harness.commands.app import app
from harness.commands.options import combine, split_words
from harness.core.errors import UsageError
from harness.sweep.overrides import Overrides

COMMANDS = typer.main.get_command(app).commands
CASES = ["--family", "--impl", "--seq", "--mode"]
PLACE = ["--plugin", "--config", "--results"]
MODEL = ["--model", "--tp", "--phase"]
LIMITS = ["--timeout", "--memory", "--threads"]
STORED = ["--device", "--run", "--baseline", "--config", "--results"]
END = ["--wait", "--strict", "--json"]
FLAGS = {
    "run": [
        *(*CASES, "--device", "--set", *MODEL, "--baseline", "--quick", *LIMITS, "--seed", "--budget"),
        *("--precision", "--replicates", *PLACE, "--resume", "--dry-run", "--figures", "--wait"),
        "--graphs",
        *("--strict", "--json", "--columns", "--notes", "--shard", "--on"),
    ],
    "sensitivity": [
        *(*CASES, "--device", "--set", *MODEL, "--baseline", "--quick", *LIMITS, "--seed", "--budget"),
        *("--precision", "--replicates", *PLACE, "--resume", "--run", "--factor", *END),
    ],
    "check": [
        *CASES,
        "--device",
        "--set",
        *MODEL,
        "--quick",
        *LIMITS,
        "--seed",
        *PLACE,
        "--shard",
        "--on",
        *END,
    ],
    "new": ["--family", "--framework", "--out", "--plugin", "--config", "--json"],
    "static": [
        *(
            "--target",
            "--args",
            "--grid",
            "--max-seq",
            "--kernels",
            "--owners",
            "--against",
            *CASES,
            "--set",
            *MODEL,
            "--quick",
        ),
        *(*LIMITS, *PLACE, "--shard", "--on", "--columns", "--notes", *END),
    ],
    "claims": ["--check", "--shard", *PLACE, "--json"],
    "list": ["--plugin", "--config", "--contracts", "--json"],
    "doctor": ["--noise", "--self-check", "--roofline", *PLACE, "--json"],
    "machines": [*PLACE, "--json"],
    "profile": [
        *(*CASES, "--device", "--set", *MODEL, "--quick", *LIMITS, "--seed", *PLACE, "--wait", "--json"),
        *("--ops", "--trace", "--budget", "--resume"),
    ],
    "sentinel": ["--python", "--target", "--seq", "--config", "--issue", "--out", "--json"],
    "show": [*CASES, *STORED, "--record", "--columns", "--notes", "--json"],
    "chart": [*CASES, *STORED, "--out", "--png", "--json"],
    "dispatch": [*CASES, *STORED, "--inexact", "--into", "--json"],
    "report": ["--run", "--into", "--check", "--html", "--pr", "--chart", "--config", "--results", "--json"],
    "verify": [*PLACE, "--limit", "--wait", "--json"],
    "runs": ["--keep", "--dry-run", "--config", "--results", "--json"],
    "collect": ["--check", "--config", "--results", "--json"],
    "export": [
        *(
            "--to",
            "--out",
            "--samples",
            "--static",
            "--kernels",
            *CASES,
            "--device",
            "--baseline",
            "--config",
        ),
        "--results",
    ],
    "history": ["--config", "--results", "--json"],
    "compare": [
        *("--impl", "--force", "--across", "--run", "--out", "--config", "--results", "--notes", "--json")
    ],
    "gate": [
        *("--against", "--cases", "--delta", "--max-pairs", "--budget", "--explain", "--last"),
        "--self-check",
        *("--static", "--update", "--inconclusive", "--junit", "--resume", "--wait", "--all", "--dry-run"),
        *(*CASES, "--device", "--set", *MODEL, "--quick", *LIMITS, "--seed", *PLACE, "--json"),
    ],
}


def test_every_command_is_pinned():
    assert COMMANDS.keys() == FLAGS.keys()


@pytest.mark.parametrize("name", FLAGS)
def test_a_command_takes_exactly_its_flags(name):
    taken = [word for one in COMMANDS[name].params if one.param_type_name == "option" for word in one.opts]
    assert sorted(taken) == sorted(FLAGS[name])


def test_words_come_with_commas_or_one_by_one():
    assert split_words(["a,b", "c[x=1,y=2]"]) == ("a", "b", "c[x=1,y=2]")
    assert split_words(None) == ()
    with pytest.raises(UsageError, match='"," names nothing'):
        split_words(["4Ki", ","])


def test_nothing_typed_changes_nothing():
    groups = options.SelectionFlags(), options.LimitFlags(), measuring_options.RunFlags()
    assert combine(*groups) == combine() == Overrides()


def test_each_group_adds_its_own():
    selection = options.SelectionFlags(
        family=["mask"],
        impl=["a,b"],
        seq=["4Ki"],
        mode=["bwd"],
        set_=["rows=1,2", "rows=3"],
        quick=True,
        model=["glm-5,kimi-k2"],
        tp=["8"],
    )
    limits = options.LimitFlags(timeout="1s", seed="7")
    run = measuring_options.RunFlags(baseline="a", budget="2s", replicates=4)
    assert combine(selection, limits, run) == Overrides(
        families=("mask",),
        impls=("a", "b"),
        seqs=("4Ki",),
        modes=("bwd",),
        fields={"rows": ("1", "2", "3")},
        baseline="a",
        quick=True,
        replicates=4,
        settings={"timeout": "1s", "seed": "7", "budget": "2s"},
        models={"model": ("glm-5", "kimi-k2"), "tp": ("8",)},
    )


def test_a_device_is_typed_or_the_host():
    assert combine(options.SelectionFlags(device=["cuda"])).devices == ("cuda",)
    assert combine(options.HostSelectionFlags()).devices == ("cpu",)


@pytest.mark.parametrize("text", ["rows", "rows=", "rows= ,", "=", "=3", ""])
def test_a_field_without_a_value_is_refused(text):
    with pytest.raises(UsageError) as caught:
        combine(options.SelectionFlags(set_=[text]))
    assert str(caught.value) == f"--set: write FIELD=VALUE, not {text}"


def test_a_place_is_a_project():
    config, results = Path("b.yaml"), Path("r")
    whole = options.PlaceFlags(config=config, results="r", plugin=["a.py,b.py"]).project()
    assert (whole.config_path, whole.results_path, whole.given_plugins) == (config, results, ("a.py", "b.py"))
    assert options.CatalogFlags(plugin=["a.py"]).project().given_plugins == ("a.py",)
    assert options.ResultsFlags(config, "r").project().results_path == results


def test_a_part_of_a_run_is_a_selection():
    part = stored_options.StoredFlags(family=["mask"], seq=["1Ki,2Ki"], device=["cpu"]).part(["quick"])
    assert (part.suites, part.families) == (("quick",), ("mask",))
    assert (part.seqs, part.devices) == (("1Ki", "2Ki"), ("cpu",))


def test_a_gate_gives_its_budget_to_each_case():
    overrides = combine(options.LimitFlags(seed="1"))
    flags = gate_options.GateFlags(budget="20s", cases=["a@*"], junit=Path("j.xml"))
    gate = flags.options(["mask"], overrides)
    assert (gate.suites, gate.cases, gate.junit, gate.budget_s) == (("mask",), ("a@*",), Path("j.xml"), 20.0)
    assert gate.overrides.settings == {"seed": "1", "budget": "20s"}


@pytest.mark.parametrize(("budget", "says"), [("0", "--budget 0 s: must be longer"), ("x", "--budget: ")])
def test_a_gate_needs_a_budget(budget, says):
    with pytest.raises(UsageError, match=says):
        gate_options.GateFlags(budget=budget).options((), Overrides())
