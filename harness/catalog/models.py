"""Model presets: the attention fields of real models as published, each file with its source.

No number is entered by hand. A family's own function derives its workload from the raw fields. Every field is
either used or known not to affect shapes (`models/fields.toml`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from harness.core.errors import UsageError, nearest
from harness.core.workload import Value

FILES = Path(__file__).with_suffix("")
LISTING = "seqsweep list models"
SELECTING_RATIO = 4  # DeepSeek-V4's indexer selects among keys of 4 tokens; layers with sparser keys read all
_DTYPES = {"bfloat16": "bf16", "float16": "f16", "float32": "f32"}
_GLOBAL_KINDS = ("full_attention", "deepseek_sparse_attention")  # values of layer_types


@dataclass(frozen=True)
class Phase:
    """A part of serving: `prefill` of a whole prompt, a `chunk` of one, `decode` of the next token.

    `queries` is the number of queries per call in families where these attend to a longer context.
    """

    name: str
    queries: int


# 4096 from FlashMLA's tests of sparse prefill; 1024 from the queries per device in MaxText's training.
PHASES = {phase.name: phase for phase in (Phase("prefill", 4096), Phase("chunk", 1024), Phase("decode", 1))}


@dataclass(frozen=True)
class ModelWorkload:
    """A family's workload in a model and phase: its `fields`, and the number of `layers` that use it.

    Tensor parallelism divides the fields named in `query_heads`, and divides or replicates those in
    `key_heads`. One element of `seq` represents `tokens` tokens of the context, which is at most `longest`
    (None: the model's positions). Only implementations of these `semantics` are used (empty: all), with the
    first one's as baseline. `note` describes how the family's computation differs from the model's.
    """

    fields: Mapping[str, Value]
    layers: int
    query_heads: tuple[str, ...] = ()
    key_heads: tuple[str, ...] = ()
    tokens: int = 1
    longest: int | None = None
    semantics: tuple[str, ...] = ()
    note: str = ""

    def shard(self, devices: int) -> ModelWorkload:
        """The workload per device under tensor parallelism. UsageError if heads do not divide."""
        fields = dict(self.fields)
        for name in (*self.query_heads, *self.key_heads):
            heads = int(fields[name] or 0)
            if name in self.key_heads and devices % heads == 0:
                fields[name] = 1
            elif heads % devices:
                raise UsageError(f"{heads} {name} cannot be divided by {devices} devices; use a divisor")
            else:
                fields[name] = heads // devices
        return replace(self, fields=fields)


@dataclass(frozen=True)
class Model:
    """A model by its publisher's own `raw` fields.

    `source` has their repository, path, commit and SHA-256; `preset` is the SHA-256 of the preset's file.
    """

    name: str
    source: Mapping[str, str]
    raw: Mapping[str, Any]

    @cached_property
    def fields(self) -> Mapping[str, Any]:
        """The fields of the language model, which are nested in multimodal models."""
        return self.raw.get("text_config", self.raw)

    @property
    def dtype(self) -> str:
        return _DTYPES[self.fields.get("torch_dtype") or self.fields["dtype"]]

    @property
    def layers(self) -> int:
        return self.fields["num_hidden_layers"]

    @property
    def positions(self) -> int:
        return self.fields["max_position_embeddings"]

    @property
    def head_dim(self) -> int:
        """The dimension of a query and key head, except in MLA."""
        return self.fields.get("head_dim") or self.fields["hidden_size"] // self.fields["num_attention_heads"]

    @property
    def compression(self) -> tuple[int, ...]:
        """Tokens per compressed key, by layer, in a model that compresses keys; else empty."""
        return tuple(self.fields.get("compress_ratios", ()))[: self.layers]

    @property
    def global_layers(self) -> int:
        """Layers with global attention, whose queries may reach every token: not linear or windowed ones."""
        fields = self.fields
        if "layer_types" in fields:
            return sum(kind in _GLOBAL_KINDS for kind in fields["layer_types"])
        if "linear_attn_config" in fields:
            return len(fields["linear_attn_config"]["full_attn_layers"])
        if "hybrid_layer_pattern" in fields:
            return fields["hybrid_layer_pattern"].count(0)
        if self.compression:
            return sum(ratio > 0 for ratio in self.compression)
        return self.layers

    @property
    def indexer_layers(self) -> int:
        """Layers that run their own indexer instead of reusing an earlier selection; 0 without an indexer."""
        if "index_topk" not in self.fields:
            return 0
        if self.compression:
            return self.compression.count(SELECTING_RATIO)
        return self.fields.get("indexer_types", ["full"] * self.layers).count("full")

    @property
    def indexer_tokens(self) -> int:
        """Tokens of the context per key of the indexer."""
        return SELECTING_RATIO if self.compression else 1


def names() -> list[str]:
    """The names of the presets."""
    return sorted(path.stem for path in FILES.glob("*.yaml"))


def model(name: str) -> Model:
    """The preset with this name. UsageError for any other."""
    if name not in names():
        raise UsageError(f'unknown model "{name}"{nearest(name, names(), LISTING)}')
    return read(FILES / f"{name}.yaml")


@cache
def read(file: Path) -> Model:
    """The model in a preset's file. The files belong to this package; tests check their form."""
    import yaml

    content = file.read_bytes()
    preset = yaml.safe_load(content)
    source = {**preset["source"], "preset": hashlib.sha256(content).hexdigest()}
    return Model(file.stem, source, preset["fields"])
