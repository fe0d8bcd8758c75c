"""Every implementation at every point of points.yaml: contracts, gradients and checks, in this process."""

from itertools import product
from pathlib import Path

import pytest
import yaml

from harness.core.case import split_list
from impls.mla.family import CONFIGS
from tests.impls.judgements import assert_passed, judged, said_by_checks
from tests.impls.mla_trial import NARROW, UNEVEN
from tests.impls.trials import failures
from tests.impls.variants import FAMILIES, labelled, products

SUITES = yaml.safe_load(Path(__file__).with_name("points.yaml").read_text())
# Rounding uses less than the bound; an answer near the bound means that its derivation is wrong.
MARGIN = 0.7
pytestmark = [
    *(pytest.mark.torch, pytest.mark.jax),
    pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile:UserWarning"),
]


def cases(*kinds):
    """(family, entry, label, workload, kind of its list) of every point."""
    for name, entries in SUITES.items():
        for entry in entries:
            marks = [pytest.mark.full] if entry.get("slow") else []
            for kind in kinds:
                for label, fields in product(split_list(entry["impls"]), entry.get(kind, ())):
                    for w in products(name, {**entry.get("base", {}), **fields}):
                        shown = "-".join(f"{field}={value}" for field, value in fields.items())
                        yield pytest.param(
                            name, entry, label, w, kind, id=f"{name}/{label}-{shown}", marks=marks
                        )


@pytest.fixture
def surroundings(monkeypatch, one_thread):
    """The surroundings in an entry: widths of mla, single steps, plain operators, a package."""

    def arrange(entry):
        widths = {"model": {}, "uneven": UNEVEN}.get(entry.get("widths"), NARROW)
        for name, config in widths.items():
            monkeypatch.setitem(CONFIGS, name, config)
        pytest.importorskip(entry.get("needs", "numpy"))
        if entry.get("single_steps"):
            monkeypatch.setattr("impls.attention.mslk._torch.STEP_TILES", 1)
        if entry.get("uncompiled"):
            monkeypatch.setattr("torch.compile", lambda function, **_: function)

    return arrange


@pytest.mark.parametrize(("family", "entry", "label", "w", "kind"), [*cases("points", "gradients")])
def test_an_implementation_passes_its_contract(surroundings, family, entry, label, w, kind):
    surroundings(entry)
    variant, options = labelled(family, label)
    for backward in (False, True) if kind == "gradients" else (False,):
        figures = assert_passed(judged(FAMILIES[family], variant, w, backward=backward, **options)).figures
        assert figures.get("largest_error_of_allowed", 0) < MARGIN
        assert figures.get("relative_rms", 0) <= MARGIN * figures.get("relative_rms_bound", 1)


@pytest.mark.parametrize(("family", "entry", "label", "w", "kind"), [*cases("checks", "checks_bwd")])
def test_an_implementation_fails_exactly_the_declared_checks(surroundings, family, entry, label, w, kind):
    surroundings(entry)
    variant, options = labelled(family, label)
    mode = "bwd" if kind == "checks_bwd" else "fwd"
    said = said_by_checks(FAMILIES[family], variant, w, mode=mode, **options)
    declared = variant.fails(w, options).keys()
    assert said
    assert declared <= {check.name for check in FAMILIES[family].checks}
    assert failures(said).keys() == declared & said.keys()
