"""The mask of a model's selection, by its publisher's fields: what its indexer keeps, and how often."""

from __future__ import annotations

from harness import Model, ModelWorkload, Phase, Unsupported


def of_model(model: Model, phase: Phase) -> ModelWorkload:
    """All heads share a selection, so devices that divide the heads make the same mask each.

    Of compressed keys one column is as many tokens as a key stands for.
    """
    layers = model.indexer_layers
    if not layers:
        raise Unsupported("it selects no single tokens, so no mask is made of them")
    fields = {"rows": phase.queries, "topk": model.fields["index_topk"], "dtype": model.dtype}
    return ModelWorkload(fields, layers, tokens=model.indexer_tokens)
