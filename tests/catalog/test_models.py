"""The presets: their publishers' fields, what follows from them, and how a shard of one is cut."""

import tomllib
from collections import Counter

import pytest
import yaml

from harness.catalog import models
from harness.catalog.models import ModelWorkload, model, names, read
from harness.commands.list_models import attention_words, selection_words
from harness.core.errors import UsageError

# attention, selection, layers, positions: as the publishers' configurations were read by others, by hand
KNOWN = {
    "deepseek-v3": ("MLA 128 × 128+64/128, latents 1536 and 512", "–", 61, 163840),
    "deepseek-v3.2": ("MLA 128 × 128+64/128, latents 1536 and 512", "2048 tokens by 64 × 128", 61, 163840),
    "deepseek-v4-flash": (
        "MQA 64/1 × 512, window 128, keys compressed in layers: 21 by 4, 20 by 128",
        "512 compressed keys by 64 × 128, in 21 of 43 layers",
        43,
        1048576,
    ),
    "deepseek-v4-pro": (
        "MQA 128/1 × 512, window 128, keys compressed in layers: 30 by 4, 31 by 128",
        "1024 compressed keys by 64 × 128, in 30 of 61 layers",
        61,
        1048576,
    ),
    "glm-5": ("MLA 64 × 192+64/256, latents 2048 and 512", "2048 tokens by 32 × 128", 78, 202752),
    "glm-5.2": (
        "MLA 64 × 192+64/256, latents 2048 and 512",
        "2048 tokens by 32 × 128, in 21 of 78 layers",
        78,
        1048576,
    ),
    "kimi-k2": ("MLA 64 × 128+64/128, latents 1536 and 512", "–", 61, 131072),
    "kimi-k3": (
        "MLA 96 × 128+64/128, latents 1536 and 512, all tokens in 24 of 93 layers",
        "–",
        93,
        1048576,
    ),
    "llama-3.1-405b": ("GQA 128/8 × 128", "–", 126, 131072),
    "llama-3.1-70b": ("GQA 64/8 × 128", "–", 80, 131072),
    "llama-3.1-8b": ("GQA 32/8 × 128", "–", 32, 131072),
    "llama-4-scout": ("GQA 40/8 × 128, chunks of 8Ki", "–", 48, 10485760),
    "mimo-v2-flash": ("GQA 64/4 × 192/128, all tokens in 9 of 48 layers", "–", 48, 262144),
    "minimax-m3": ("GQA 64/4 × 128", "16 blocks of 128 by 4 × 128, in 57 of 60 layers", 60, 1048576),
    "qwen3-235b": ("GQA 64/4 × 128", "–", 94, 40960),
    "qwen3-30b": ("GQA 32/4 × 128", "–", 48, 40960),
    "qwen3.5-397b": ("GQA 32/2 × 256, all tokens in 15 of 60 layers", "–", 60, 262144),
}


# Of the kept files, which were compared field by field with their publishers' own: an edit is seen here, and
# in run.json as another `preset`. A preset that follows its publisher changes `commit` and `sha256` as well.
KEPT = {
    "deepseek-v3": "b3759ddc82a7", "deepseek-v3.2": "a00e6628a039", "deepseek-v4-flash": "18bad8ff56f0",
    "deepseek-v4-pro": "0e8e1cab9a0e", "glm-5": "25fec4b6cd90", "glm-5.2": "f83ed79defcb",
    "kimi-k2": "16159412f7bc", "kimi-k3": "6bffa666896e", "llama-3.1-405b": "59b605b207d6",
    "llama-3.1-70b": "0e6d87f6aad4", "llama-3.1-8b": "ac8fc1e1cce9", "llama-4-scout": "a4f9a3950651",
    "mimo-v2-flash": "5e8a0e60858f", "minimax-m3": "0bc14eef8b92", "qwen3-235b": "dab77484c659",
    "qwen3-30b": "0811eb89c918", "qwen3.5-397b": "cf1f2479fc2c",
}  # fmt: skip


def test_no_preset_has_changed():
    assert {name: model(name).source["preset"][:12] for name in names()} == KEPT


def test_an_edited_preset_has_another_hash(tmp_path):
    text = (models.FILES / "glm-5.yaml").read_text()
    (file := tmp_path / "glm-5.yaml").write_text(text.replace("index_topk: 2048", "index_topk: 1024"))
    assert read(file).source["sha256"] == model("glm-5").source["sha256"]
    assert read(file).source["preset"] != model("glm-5").source["preset"]


def test_the_presets_that_there_are():
    assert names() == sorted(KNOWN)


@pytest.mark.parametrize("name", KNOWN)
def test_a_preset_says_what_is_known_of_the_model(name):
    found = model(name)
    words = attention_words(found), selection_words(found)
    assert (*words, found.layers, found.positions) == KNOWN[name]
    assert found.dtype == "bf16"


@pytest.mark.parametrize("name", KNOWN)
def test_a_preset_has_its_source_and_nothing_unknown(name):
    told = yaml.safe_load((models.FILES / f"{name}.yaml").read_text())
    assert list(told) == ["source", "fields"]
    source = told["source"]
    assert source["repo"].count("/") == 1
    assert source["path"].endswith(".json")
    assert len(source["commit"]) == 40
    assert len(source["sha256"]) == 64
    assert model(name).raw == told["fields"]


def test_every_known_field_is_some_presets_own():
    used = Counter[str]()

    def count(fields):
        for name, value in fields.items():
            used[name] += 1
            if isinstance(value, dict):
                count(value)

    for name in names():
        count(model(name).raw)
    groups = tomllib.loads((models.FILES / "fields.toml").read_text())
    assert {name for group in groups.values() for name in group} == set(used)


def test_an_unknown_model_is_named_with_the_nearest():
    with pytest.raises(UsageError, match='unknown model "qwen-235b"; nearest: "qwen3-235b"'):
        model("qwen-235b")


def test_layers_by_each_publishers_way_of_saying_so():
    flash, glm, kimi = model("deepseek-v4-flash"), model("glm-5.2"), model("kimi-k3")
    assert Counter(flash.compression) == {0: 2, 4: 21, 128: 20}  # the last entry is of a predicted token
    assert (flash.global_layers, flash.indexer_layers, flash.indexer_tokens) == (41, 21, 4)
    assert (glm.global_layers, glm.indexer_layers, glm.indexer_tokens) == (78, 21, 1)
    assert (kimi.global_layers, kimi.indexer_layers) == (24, 0)


WHOLE = ModelWorkload({"heads": 64, "kv_heads": 4, "topk": 3}, 1, ("heads",), ("kv_heads",))


@pytest.mark.parametrize(
    ("devices", "heads", "kv_heads"), [(1, 64, 4), (2, 32, 2), (4, 16, 1), (8, 8, 1), (64, 1, 1)]
)
def test_query_heads_divide_and_key_heads_divide_or_are_replicated(devices, heads, kv_heads):
    assert WHOLE.shard(devices).fields == {"heads": heads, "kv_heads": kv_heads, "topk": 3}


@pytest.mark.parametrize(("devices", "said"), [(3, "64 heads"), (128, "64 heads")])
def test_a_shard_that_does_not_divide_is_refused(devices, said):
    with pytest.raises(UsageError, match=f"{said} do not divide over {devices} devices"):
        WHOLE.shard(devices)


def test_key_heads_that_neither_divide_nor_are_divided_are_refused():
    with pytest.raises(UsageError, match="6 kv_heads do not divide over 4 devices"):
        ModelWorkload({"heads": 24, "kv_heads": 6}, 1, ("heads",), ("kv_heads",)).shard(4)
