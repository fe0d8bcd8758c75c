"""A model's MLA from its publisher's fields: widths, a device's heads, and the layers that use MLA."""

from __future__ import annotations

from harness import Model, ModelWorkload, Phase, Unsupported

WIDTHS = {
    "dim": "hidden_size",
    "heads": "num_attention_heads",
    "q_lora_rank": "q_lora_rank",
    "kv_lora_rank": "kv_lora_rank",
    "nope": "qk_nope_head_dim",
    "rope": "qk_rope_head_dim",
    "v": "v_head_dim",
}


def of_model(model: Model, phase: Phase) -> ModelWorkload:
    """Heads are divided over devices; every device has the whole latents and their projections."""
    if "kv_lora_rank" not in model.fields:
        raise Unsupported("its configuration has no kv_lora_rank, so keys and values have no latent")
    widths = {field: model.fields[name] for field, name in WIDTHS.items()}
    chunk = {"queries": phase.queries} if phase.name == "chunk" else {}
    selects = model.fields.get("index_topk")
    return ModelWorkload(
        {**widths, "phase": phase.name, **chunk, "dtype": model.dtype},
        model.global_layers,
        query_heads=("heads",),
        note=f"the model attends only to the {selects} tokens that it selects; here all are attended"
        if selects
        else "",
    )
