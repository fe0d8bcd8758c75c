"""The presets: their publishers' fields, what follows from them, and how a shard of one is cut."""

import json
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from harness.catalog import models
from harness.catalog.models import model, names, read
from harness.commands.list_catalog import attention_words

# Attention, layers and positions as others read the publishers' configurations, by hand.
# And the hash of each file, which was compared field by field with its publisher's: an edit is seen here.
GOLDEN = Path(__file__).parents[1] / "golden/models.jsonl"
KNOWN = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]


def test_all_presets():
    assert names() == [known["name"] for known in KNOWN]


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known["name"])
def test_a_preset_has_the_fields_of_the_model(known):
    found = model(known["name"])
    told = {"attention": attention_words(found), "layers": found.layers}
    told |= {"positions": found.positions, "preset": found.source["preset"][:12], "name": found.name}
    assert told == known
    assert found.dtype == "bf16"
    assert [len(found.source[name]) for name in ("commit", "sha256")] == [40, 64]


def test_an_edited_preset_has_another_hash(tmp_path):
    text = (models.FILES / "glm-5.yaml").read_text()
    (file := tmp_path / "glm-5.yaml").write_text(text.replace("index_topk: 2048", "index_topk: 1024"))
    assert read(file).source["sha256"] == model("glm-5").source["sha256"]
    assert read(file).source["preset"] != model("glm-5").source["preset"]


def test_every_known_field_occurs_in_a_preset():
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


def test_layers_in_each_publishers_notation():
    flash, glm, kimi = model("deepseek-v4-flash"), model("glm-5.2"), model("kimi-k3")
    assert Counter(flash.compression) == {0: 2, 4: 21, 128: 20}  # the last entry is of a predicted token
    assert (flash.global_layers, flash.indexer_layers, flash.indexer_tokens) == (41, 21, 4)
    assert (glm.global_layers, glm.indexer_layers, glm.indexer_tokens) == (78, 21, 1)
    assert (kimi.global_layers, kimi.indexer_layers) == (24, 0)
