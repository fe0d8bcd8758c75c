"""What families derive from models: every number, or the reason for its absence, reviewed by a person."""

from itertools import product

import pytest
import yaml

from harness.catalog import discovery, models
from harness.catalog.family_questions import derive
from harness.core.errors import UsageError
from harness.core.workload import canonical
from tests.goldens import assert_golden

FAMILIES = discovery.builtin().families


def derived_fields(family, name, phase):
    """One line of the golden file; each value is allowed for its field."""
    try:
        found = derive(FAMILIES[family], name, phase)
    except UsageError as error:
        return f"refused: {error}"
    for field, value in found.fields.items():
        assert FAMILIES[family].field(field).parse(canonical(value)) == value
    fields = ", ".join(f"{field}={canonical(value)}" for field, value in found.fields.items())
    return f"{fields}; layers {found.layers}, tokens {found.tokens}, longest {found.longest}"


def test_what_follows_from_every_models_file():
    asked = product(sorted(FAMILIES), models.names(), ("prefill", "chunk", "decode"))
    lines = [f"{' '.join(one)}: {derived_fields(*one)}\n" for one in asked]
    assert_golden("models_derived.txt", "".join(lines))


def test_deepseek_v4_has_one_key_that_is_the_value_and_no_latents():
    """If its output's latent were read as the keys' latent, as it once was, it would have 1024 of them."""
    for name in ("deepseek-v4-flash", "deepseek-v4-pro"):
        fields = yaml.safe_load((models.FILES / f"{name}.yaml").read_text())["fields"]
        f = fields.get("text_config", fields)
        assert f["o_lora_rank"] == 1024
        assert (f["num_key_value_heads"], f["head_dim"]) == (1, 512)
        assert "kv_lora_rank" not in f
        with pytest.raises(UsageError, match="has no kv_lora_rank"):
            derive(FAMILIES["mla"], name, "decode")


@pytest.mark.parametrize(
    ("family", "name", "devices", "fields"),
    [
        ("attention", "qwen3-235b", 8, {"heads": 8, "kv_heads": 1, "head_dim": 128}),
        ("attention", "llama-3.1-8b", 4, {"heads": 8, "kv_heads": 2}),
        ("attention", "minimax-m3", 2, {"heads": 32, "kv_heads": 2, "block": 128, "selected": 16}),
        ("mla", "deepseek-v3.2", 8, {"heads": 16, "kv_lora_rank": 512, "q_lora_rank": 1536, "dim": 7168}),
        ("topk", "deepseek-v3.2", 8, {"attention_heads": 16, "heads": 64}),
        ("topk", "minimax-m3", 8, {"batch": 1, "topk": 16}),
        ("mask", "glm-5", 8, {"topk": 2048, "rows": 4096}),
    ],
)
def test_a_devices_share(family, name, devices, fields):
    found = derive(FAMILIES[family], name, "prefill").shard(devices).fields
    assert {field: found[field] for field in fields} == fields
