"""`list FAMILY` and `list models`: one family as its process describes it, and the presets of models."""

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
    """`GQA 64/4 × 128`, `MLA 64 × 192+64/256, selects 2048 in 21 layers`: heads, widths, and a selection."""
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
    """A line per model, and where its publisher's fields come from."""
    numbers = ("layers", "positions")
    table = plain_table("model", "attention", *numbers, "source", right=numbers)
    for each in models:
        positions = format_count(each.positions)
        source = f"{each.source['repo']}@{each.source['commit'][:7]}"
        table.add_row(each.name, Text(attention_words(each)), str(each.layers), positions, source)
    heading = Text("models", style="bold")
    heading.append(": their publishers' own figures; seqsweep list models NAME has what follows for families")
    return Group(heading, table)


def model_page(model: Model, derived: Sequence[Derived]) -> Group:
    """All about a model: the workload that each family derives in each phase, or why it has none."""
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
    caption = "layers make the call in a step; tokens of the context are one of seq; --tp divides heads."
    tables = (table, Text("")) if table.row_count else ()
    return Group(heading, where, *tables, *map(Text, notes), Text(caption, style="dim"))


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
    numbers = {"layers": preset.layers, "positions": preset.positions}
    known = {"name": preset.name, "attention": attention_words(preset), **numbers}
    return {**known, "source": preset.source, "fields": preset.raw}


def describe_family(project: Project, name: str) -> tuple[list[dict[str, Any]], str]:
    """(a family's semantics as :mod:`harness.catalog.family_questions` describes them, why there are none).

    They are described at the shortest workload of a suite, because bench.yaml says which sizes make sense.
    UsageError, with the nearest name, where there is no such family.
    """
    family, config = project.catalog.family(name), project.config
    suites = [suite.name for suite in config.suites.values() if suite.family.text == name]
    planned = plan(config, project.catalog, suites, Overrides()).suites if suites else ()
    shortest = [min(suite.cases, key=lambda case: case.seq) for suite in planned]
    try:
        return semantics_info(family, [dict(case.workload) for case in shortest]), ""
    except NoAnswer as error:
        return [], f"{family.file} does not say what its semantics are: {error}"
