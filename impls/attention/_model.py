"""A model's attention from its publisher's fields: heads, their width, and its selected blocks, if any.

For a model without selection the sparse forms use the suite's own blocks: what they would save in the model's
step.
"""

from __future__ import annotations

from harness import Model, ModelWorkload, Phase, Unsupported


def of_model(model: Model, phase: Phase) -> ModelWorkload:
    """Query heads are divided over devices; key heads are divided or replicated."""
    fields = model.fields
    _refuse(model)
    sparse = fields.get("sparse_attention_config")
    blocks = (
        {
            "block": sparse["sparse_block_size"],
            "selected": sparse["sparse_topk_blocks"],
            "init_blocks": sparse["sparse_init_block"],
            "local_blocks": sparse["sparse_local_block"],
        }
        if sparse
        else {}
    )
    return ModelWorkload(
        {
            "heads": fields["num_attention_heads"],
            "kv_heads": fields["num_key_value_heads"],
            "head_dim": model.head_dim,
            "dtype": model.dtype,
            "stage": "attention" if phase.name == "prefill" else phase.name,
            **({"queries": phase.queries} if phase.name == "chunk" else {}),
            **blocks,
        },
        sum(sparse["sparse_attention_freq"]) if sparse else model.global_layers,
        query_heads=("heads",),
        key_heads=("kv_heads",),
        longest=fields.get("attention_chunk_size"),
        semantics={"decode": ("decode", "nsa_paper_decode"), "chunk": ("chunk",)}.get(phase.name, ()),
        note="the model reads only the selected blocks, without the other branches of nsa forms"
        if sparse
        else "",
    )


def _refuse(model: Model) -> None:
    fields = model.fields
    if "kv_lora_rank" in fields:
        raise Unsupported("it attends to latents, whose keys are wider than the values; use the family mla")
    if model.compression:
        raise Unsupported("all keys beyond its window are compressed, and one array is both key and value")
    if fields.get("v_head_dim", model.head_dim) != model.head_dim:
        raise Unsupported(
            f"keys are {model.head_dim} wide and values {fields['v_head_dim']}; here they are equal"
        )
