"""`list FAMILY` and `list models`: one family as its process describes it, and the model presets."""

from collections.abc import Sequence
from typing import Any

from rich.console import Group
from rich.text import Text

from harness.catalog.catalog import Catalog
from harness.catalog.child_process import NoAnswer
from harness.catalog.family_questions import derive, semantics_info
from harness.catalog.models import PHASES, Model, ModelWorkload, model, names
from harness.commands import output
from harness.core.errors import UsageError
from harness.core.units import format_count
from harness.core.workload import canonical
from harness.report.tables.listing import plain_table
from harness.sweep.overrides import Overrides
from harness.sweep.project import Project
from harness.sweep.schedule import plan

Derived = tuple[str, str, ModelWorkload | str]  # family, phase, and the workload or why there is none


def attention_words(model: Model) -> str:
    """Heads, widths and selection: `GQA 64/4 × 128`, `MLA 64 × 192+64/256, selects 2048 in 21 layers`."""
    fields = model.fields
    heads, key_heads = fields["num_attention_heads"], fields["num_key_value_heads"]
    words = f"{'MQA' if key_heads == 1 else 'GQA'} {heads}/{key_heads} × {model.head_dim}"
    if "kv_lora_rank" in fields:
        widths = f"{fields['qk_nope_head_dim']}+{fields['qk_rope_head_dim']}/{fields['v_head_dim']}"
        words = f"MLA {heads} × {widths}"
    if model.indexer_layers:
        words += f", selects {fields['index_topk']} in {model.indexer_layers} layers"
    elif model.global_layers < model.layers:
        words += f", all tokens in {model.global_layers} layers"
    return words


def models_table(models: Sequence[Model]) -> Group:
    """A row per model, with the source of its publisher's fields."""
    numbers = ("layers", "positions")
    table = plain_table("model", "attention", *numbers, "source", right=numbers)
    for each in models:
        positions = format_count(each.positions)
        source = f"{each.source['repo']}@{each.source['commit'][:7]}"
        table.add_row(each.name, Text(attention_words(each)), str(each.layers), positions, source)
    heading = Text("models", style="bold")
    heading.append(
        ": figures from their publishers. seqsweep list models NAME shows the workloads derived from one"
    )
    return Group(heading, table)


def model_page(model: Model, derived: Sequence[Derived]) -> Group:
    """Describe a model: the workload that each family derives in each phase, or why there is none."""
    heading = Text(f"{model.name}: {attention_words(model)}", style="bold")
    where = Text("{repo}@{commit}\n{path}\nsha256 {sha256}\n".format(**model.source), style="dim")
    table = plain_table("family", "phase", "layers", "tokens", "workload", right=("layers", "tokens"))
    notes: dict[str, None] = {}
    for family, phase, found in derived:
        if isinstance(found, str):
            notes[found] = None
            continue
        fields = " ".join(f"{name}={canonical(value)}" for name, value in found.fields.items())
        table.add_row(family, phase, str(found.layers), str(found.tokens), Text(fields))
        if found.note:
            notes[f"{family}: {found.note}"] = None
    caption = "layers: calls per step. tokens: tokens of context per element of seq. --tp divides the heads."
    tables = (table, Text("")) if table.row_count else ()
    return Group(heading, where, *tables, *map(Text, notes), Text(caption, style="dim"))


def list_models(catalog: Catalog, name: str | None, *, json: bool) -> None:
    """Print a row per preset, or describe one. UsageError for an unknown name."""
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
    """A family's workload of a model in a phase, or the reason why there is none."""
    try:
        return family, phase, derive(catalog.family(family), preset.name, phase)
    except UsageError as error:
        return family, phase, str(error)


def _as_data(preset: Model) -> dict[str, object]:
    numbers = {"layers": preset.layers, "positions": preset.positions}
    known = {"name": preset.name, "attention": attention_words(preset), **numbers}
    return {**known, "source": preset.source, "fields": preset.raw}


def describe_family(project: Project, name: str) -> tuple[list[dict[str, Any]], str]:
    """(a family's semantics as :mod:`harness.catalog.family_questions` describes them, why they are missing).

    They are described at the shortest workload of each suite, because bench.yaml has realistic sizes.
    UsageError, with the nearest name, for an unknown family.
    """
    family, config = project.catalog.family(name), project.config
    suites = [suite.name for suite in config.suites.values() if suite.family.text == name]
    planned = plan(config, project.catalog, suites, Overrides()).suites if suites else ()
    shortest = [min(suite.cases, key=lambda case: case.seq) for suite in planned]
    try:
        return semantics_info(family, [dict(case.workload) for case in shortest]), ""
    except NoAnswer as error:
        return [], f"{family.file}: its semantics cannot be described: {error}"
