"""The mask of a model's selection, from its publisher's fields: the indexer's topk and number of calls."""

from __future__ import annotations

from harness import Model, ModelWorkload, Phase, Unsupported


def of_model(model: Model, phase: Phase) -> ModelWorkload:
    """All heads share a selection, so devices that divide the heads each make the same mask.

    With compressed keys, one column covers as many tokens as a key represents.
    """
    layers = model.indexer_layers
    if not layers:
        raise Unsupported("it does not select single tokens, so there is no mask over tokens")
    fields = {"rows": phase.queries, "topk": model.fields["index_topk"], "dtype": model.dtype}
    return ModelWorkload(fields, layers, tokens=model.indexer_tokens)
