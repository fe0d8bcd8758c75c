"""What families derive from models: every number, or the reason for its absence, reviewed by a person."""

from itertools import product

from harness.catalog import discovery, models
from harness.catalog.family_questions import derive
from harness.core.errors import UsageError
from harness.core.workload import canonical
from tests.goldens import assert_golden

FAMILIES = discovery.builtin().families


def derived_fields(family, name, phase, devices):
    """One line of the golden file; each value is one that its field takes."""
    try:
        found = derive(FAMILIES[family], name, phase).shard(devices)
    except UsageError as error:
        return f"refused: {error}"
    for field, value in found.fields.items():
        assert FAMILIES[family].field(field).parse(canonical(value)) == value
    fields = ", ".join(f"{field}={canonical(value)}" for field, value in found.fields.items())
    return f"{fields}; layers {found.layers}, tokens {found.tokens}, longest {found.longest}"


def test_what_follows_from_every_models_file():
    asked = product(sorted(FAMILIES), models.names(), ("prefill", "chunk", "decode"))
    lines = {" ".join(one): derived_fields(*one, devices=1) for one in asked}
    for family, name in product(sorted(FAMILIES), models.names()):
        if not lines[f"{family} {name} prefill"].startswith("refused"):
            lines[f"{family} {name} prefill over 8"] = derived_fields(family, name, "prefill", devices=8)
    assert_golden("models_derived.txt", "".join(f"{asked}: {line}\n" for asked, line in lines.items()))
