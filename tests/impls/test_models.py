"""What the families derive of the models: every number once more, from the raw fields of the file alone."""

import itertools

import pytest
import yaml

from harness.catalog import discovery, models
from harness.catalog.family_questions import derive
from harness.core.errors import UsageError
from harness.core.workload import canonical

FAMILIES = discovery.builtin().families
ROWS = {"prefill": 4096, "chunk": 1024, "decode": 1}
SELECTS = {"deepseek-v3.2", "deepseek-v4-flash", "deepseek-v4-pro", "glm-5", "glm-5.2"}
MLA = {"deepseek-v3", "deepseek-v3.2", "glm-5", "glm-5.2", "kimi-k2", "kimi-k3"}
GQA = {
    *("llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b", "llama-4-scout", "minimax-m3"),
    *("qwen3-235b", "qwen3-30b", "qwen3.5-397b"),
}
HAVE = {
    "attention": (GQA, set(ROWS)),
    "mask": (SELECTS, set(ROWS)),
    "mla": (MLA, set(ROWS)),
    "offsets": (set(), set()),
    "topk": (SELECTS | {"minimax-m3"}, set(ROWS)),
}
ASKED = list(itertools.product(HAVE, models.names(), ROWS))


def raw(name):
    fields = yaml.safe_load((models.FILES / f"{name}.yaml").read_text())["fields"]
    return fields.get("text_config", fields)


def selecting_layers(f):
    if "compress_ratios" in f:
        return sum(ratio == 4 for ratio in f["compress_ratios"][: f["num_hidden_layers"]])
    return sum(kind == "full" for kind in f.get("indexer_types", ["full"] * f["num_hidden_layers"]))


def attention(f, phase):
    sparse = f.get("sparse_attention_config")
    fields = {
        "heads": f["num_attention_heads"],
        "kv_heads": f["num_key_value_heads"],
        "head_dim": f.get("head_dim", f["hidden_size"] // f["num_attention_heads"]),
        "stage": {"prefill": "attention"}.get(phase, phase),
        **({"queries": 1024} if phase == "chunk" else {}),
    }
    if sparse:
        fields |= {"block": sparse["sparse_block_size"], "selected": sparse["sparse_topk_blocks"]}
        fields |= {"init_blocks": sparse["sparse_init_block"], "local_blocks": sparse["sparse_local_block"]}
        return fields, sum(sparse["sparse_attention_freq"]), 1
    full = [kind for kind in f.get("layer_types", ()) if kind == "full_attention"]
    return fields, len(full) or f["num_hidden_layers"], 1


def mask(f, phase):
    fields = {"rows": ROWS[phase], "topk": f["index_topk"]}
    return fields, selecting_layers(f), min(filter(None, f.get("compress_ratios", [1])))


def topk(f, phase):
    if sparse := f.get("sparse_attention_config"):
        fields = {"batch": sparse["sparse_num_index_heads"], "rows": ROWS[phase], "stage": "select"}
        fields |= {"topk": sparse["sparse_topk_blocks"]}
        return fields, sum(sparse["sparse_attention_freq"]), sparse["sparse_block_size"]
    fields, layers, tokens = mask(f, phase)
    fields |= {"heads": f["index_n_heads"], "head_dim": f["index_head_dim"]}
    if "kv_lora_rank" in f:
        key = f["qk_nope_head_dim"] + f["qk_rope_head_dim"]
        heads = f["num_attention_heads"]
        fields |= {"attention_heads": heads, "key_dim": key, "value_dim": f["v_head_dim"]}
    return fields, layers, tokens


def mla(f, phase):
    fields = {
        "dim": f["hidden_size"],
        "heads": f["num_attention_heads"],
        "q_lora_rank": f["q_lora_rank"],
        "kv_lora_rank": f["kv_lora_rank"],
        "nope": f["qk_nope_head_dim"],
        "rope": f["qk_rope_head_dim"],
        "v": f["v_head_dim"],
        "phase": phase,
        **({"queries": 1024} if phase == "chunk" else {}),
    }
    linear = f.get("linear_attn_config")
    return fields, len(linear["full_attn_layers"]) if linear else f["num_hidden_layers"], 1


REDERIVE = {"attention": attention, "mask": mask, "mla": mla, "topk": topk}


@pytest.mark.parametrize(("family", "name", "phase"), ASKED)
def test_every_number_follows_from_the_raw_fields(family, name, phase):
    having, phases = HAVE[family]
    if name not in having or phase not in phases:
        with pytest.raises(UsageError) as caught:
            derive(FAMILIES[family], name, phase)
        assert str(caught.value).startswith((f"{family} of {name}: ", f"{family} has nothing that follows"))
        return
    found = derive(FAMILIES[family], name, phase)
    fields, layers, tokens = REDERIVE[family](raw(name), phase)
    assert found.fields == {**fields, "dtype": "bf16"}
    assert (found.layers, found.tokens) == (layers, tokens)
    for field, value in found.fields.items():
        assert FAMILIES[family].field(field).parse(canonical(value)) == value


def test_deepseek_v4_has_one_key_that_is_the_value_and_no_latents():
    """Read as MLA with its output's latent for the keys', as it has been, it would have 1024 of them."""
    for name in ("deepseek-v4-flash", "deepseek-v4-pro"):
        f = raw(name)
        assert f["o_lora_rank"] == 1024
        assert (f["num_key_value_heads"], f["head_dim"]) == (1, 512)
        assert "kv_lora_rank" not in f
        with pytest.raises(UsageError, match="names no kv_lora_rank"):
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


def test_where_a_models_form_ends():
    assert derive(FAMILIES["attention"], "llama-4-scout", "prefill").longest == 8192
    assert derive(FAMILIES["attention"], "qwen3-235b", "prefill").longest is None
