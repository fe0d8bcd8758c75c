"""The groups of options: which flags a command takes, and what the layers below get of them."""

from pathlib import Path

import pytest

from harness.commands import measuring_options, options
from harness.commands.options import combine, split_words
from harness.core.errors import UsageError


def test_values_are_split_at_commas_or_repeated():
    assert split_words(["a,b", "c[x=1,y=2]"]) == ("a", "b", "c[x=1,y=2]")
    assert split_words(None) == ()
    with pytest.raises(UsageError, match='"," has no word'):
        split_words(["4Ki", ","])


@pytest.mark.parametrize("text", ["rows", "rows=", "rows= ,", "=", "=3", ""])
def test_a_field_without_a_value_is_refused(text):
    with pytest.raises(UsageError) as caught:
        combine(options.SelectionFlags(set_=[text]))
    assert str(caught.value) == f"--set: write FIELD=VALUE, not {text}"


def test_a_gate_gives_its_budget_to_each_case():
    overrides = combine(options.LimitFlags(seed="1"))
    flags = measuring_options.GateFlags(budget="20s", cases=["a@*"], junit=Path("j.xml"))
    gate = flags.options(["mask"], overrides)
    assert (gate.suites, gate.cases, gate.junit, gate.budget_s) == (("mask",), ("a@*",), Path("j.xml"), 20.0)
    assert gate.overrides.settings == {"seed": "1", "budget": "20s"}
