"""A model's selection from its publisher's fields: an indexer's tokens, or block-sparse blocks."""

from __future__ import annotations

from harness import Model, ModelWorkload, Phase, Unsupported


def of_model(model: Model, phase: Phase) -> ModelWorkload:
    """Each device has the whole indexer, while the heads that attend to its selection are divided."""
    if "sparse_attention_config" in model.fields:
        return _of_blocks(model, phase)
    if not model.indexer_layers:
        raise Unsupported("it selects neither tokens nor blocks")
    fields = {
        "rows": phase.queries,
        "topk": model.fields["index_topk"],
        "heads": model.fields["index_n_heads"],
        "head_dim": model.fields["index_head_dim"],
        "dtype": model.dtype,
    }
    if "kv_lora_rank" not in model.fields:
        note = "all heads share one key, which is also the value, so stage=attention is not the model's"
        return ModelWorkload(fields, model.indexer_layers, tokens=model.indexer_tokens, note=note)
    fields |= {
        "attention_heads": model.fields["num_attention_heads"],
        "key_dim": model.fields["qk_nope_head_dim"] + model.fields["qk_rope_head_dim"],
        "value_dim": model.fields["v_head_dim"],
    }
    return ModelWorkload(fields, model.indexer_layers, query_heads=("attention_heads",))


def _of_blocks(model: Model, phase: Phase) -> ModelWorkload:
    """One score per block of keys. Each key head has an index head, which selects for itself."""
    sparse = model.fields["sparse_attention_config"]
    fields = {
        "batch": sparse["sparse_num_index_heads"],
        "rows": phase.queries,
        "topk": sparse["sparse_topk_blocks"],
        "stage": "select",
        "dtype": model.dtype,
    }
    return ModelWorkload(
        fields,
        sum(sparse["sparse_attention_freq"]),
        key_heads=("batch",),
        tokens=sparse["sparse_block_size"],
        note="batch counts the heads that select; a score is that of a block of keys",
    )
