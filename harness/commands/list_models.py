"""`list models`: the presets that there are, and all that families derive from one."""

from harness.catalog.catalog import Catalog
from harness.catalog.derive import derive
from harness.catalog.models import PHASES, Model, model, names
from harness.commands import output
from harness.core.errors import UsageError
from harness.report.tables.models_table import (
    Derived,
    attention_words,
    model_page,
    models_table,
    selection_words,
)


def list_models(catalog: Catalog, name: str | None, *, json: bool) -> None:
    """Print every preset in short, or all about one. UsageError for an unknown one."""
    if name is None:
        presets = [model(known) for known in names()]
        data = {"models": [_as_data(preset) for preset in presets]}
        output.print_table(data, lambda: models_table(presets), json=json)
        return
    preset = model(name)
    derived = [_derive(catalog, family, preset, phase) for family in catalog.families for phase in PHASES]
    workloads = [
        {"family": family, "phase": phase, **({"reason": found} if isinstance(found, str) else vars(found))}
        for family, phase, found in derived
    ]
    data = {**_as_data(preset), "workloads": workloads}
    output.print_table(data, lambda: model_page(preset, derived), json=json)


def _derive(catalog: Catalog, family: str, preset: Model, phase: str) -> Derived:
    """A family's workload of a model in a phase, or why it has none."""
    try:
        return family, phase, derive(catalog.family(family), preset.name, phase)
    except UsageError as error:
        return family, phase, str(error)


def _as_data(preset: Model) -> dict[str, object]:
    words = {"attention": attention_words(preset), "selection": selection_words(preset)}
    numbers = {"layers": preset.layers, "positions": preset.positions}
    return {"name": preset.name, **words, **numbers, "source": preset.source, "fields": preset.raw}
