"""Schema of a preset's fields, for those that workloads, layer counts and listings use."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Required, TypedDict

from msgspec import Meta

from harness.core.plain_data import from_plain
from harness.core.workload import LARGEST

Size = Annotated[int, Meta(ge=1, le=LARGEST)]
Count = Annotated[int, Meta(ge=0)]
Dtype = Literal["bfloat16", "float16", "float32"]

BY_LAYER = ("compress_ratios", "hybrid_layer_pattern", "indexer_types", "layer_types")
NEEDS = {
    "kv_lora_rank": ("q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"),
    "index_topk": ("index_n_heads", "index_head_dim"),
    "compress_ratios": ("sliding_window",),
}


class _SourceForm(TypedDict):
    repo: str
    path: str
    commit: str
    sha256: str


class _LinearForm(TypedDict, total=False):
    full_attn_layers: Required[list[Size]]


class _BlocksForm(TypedDict):
    sparse_attention_freq: list[Literal[0, 1]]
    sparse_block_size: Size
    sparse_topk_blocks: Size
    sparse_init_block: Count
    sparse_local_block: Count
    sparse_num_index_heads: Size
    sparse_index_dim: Size


class _FieldsForm(TypedDict, total=False):
    hidden_size: Required[Size]
    num_hidden_layers: Required[Size]
    max_position_embeddings: Required[Size]
    num_attention_heads: Required[Size]
    num_key_value_heads: Required[Size]
    torch_dtype: Dtype | None
    dtype: Dtype | None
    head_dim: Size | None
    v_head_dim: Size
    q_lora_rank: Size | None
    kv_lora_rank: Size
    qk_nope_head_dim: Size
    qk_rope_head_dim: Size
    index_n_heads: Size
    index_head_dim: Size
    index_topk: Size
    indexer_types: list[Literal["full", "shared"]]
    compress_ratios: list[Count]
    layer_types: list[str]
    linear_attn_config: _LinearForm
    hybrid_layer_pattern: list[Literal[0, 1]]
    attention_chunk_size: Size
    sliding_window: Size | None
    sparse_attention_config: _BlocksForm


def refuse_other_form(source: Any, fields: Mapping[str, Any]) -> None:
    """ValueError names a field that is missing, of another type, or a list with another number of layers."""
    from_plain(_SourceForm, source)
    fields = fields.get("text_config", fields)
    from_plain(_FieldsForm, fields)
    if not (fields.get("dtype") or fields.get("torch_dtype")):
        raise ValueError("dtype is missing")
    for name, others in NEEDS.items():
        for other in others if name in fields else ():
            if fields.get(other) is None:
                raise ValueError(f"{other} is missing beside {name}")
    lists = {name: fields[name] for name in BY_LAYER if name in fields}
    if blocks := fields.get("sparse_attention_config"):
        lists["sparse_attention_freq"] = blocks["sparse_attention_freq"]
    layers = fields["num_hidden_layers"]
    for name, entries in lists.items():
        # DeepSeek-V4's ratios have another entry for its multi-token prediction layer, which is ignored.
        if len(entries) < layers or (len(entries) > layers and name != "compress_ratios"):
            raise ValueError(f"{name} has {len(entries)} entries for {layers} layers")
