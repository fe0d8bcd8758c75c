"""The family's checks: objections to DeepSeek-V3 #684, which had no tests, as pass/fail tests.

The contract compares an implementation with its reference on the seeded inputs of one workload. The checks
use other tokens and other sizes, and compare an implementation with its own answers to parts of the inputs.
If two answers are each within the dtype's bound of the truth, they are within twice the bound of each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from harness import Check, Judgement, Trial

from ._bounds import growth, near
from ._checks_numerics import content_matters, dtypes, fp8_dequant, input_scales, no_nan
from ._checks_probe import SWITCH, answer_to, combine, make_inputs, referee, rows_of, to_f64
from ._inputs import both_forms
from .reference import dequantise, latents
from .workload import MlaWorkload


def _equivalence(trial: Trial) -> Judgement:
    """Other tokens: of the seeded size, 16 times smaller and 4 times larger."""
    w, rows = trial.workload, rows_of(trial.workload.new)
    expected, parts = referee(trial.inputs["weights"]), {}
    for name, factor in {"": 1.0, "_small": 1 / 16, "_large": 4.0}.items():
        scale = w.input_scale * factor
        arrays = make_inputs(w, trial.inputs["weights"], 1, scale)
        got = answer_to(trial, arrays)[:, rows]
        parts[name] = near(w, got, expected(w, arrays, rows), growth(w, scale))
    return combine(parts)


def _decode_after_prefill(trial: Trial) -> Judgement:
    """Put all tokens but the last into a cache, computed by the reference, and decode the last."""
    import torch

    w, weights = trial.workload, trial.inputs["weights"]
    decoding = replace(w, seq=w.seq - 1, phase="decode")
    with torch.no_grad():
        past = (
            to_f64(trial.inputs["x"][:, :-1]),
            dequantise(to_f64(weights)),
            to_f64(trial.inputs["freqs"][:-1]),
        )
        caches = [part.numpy() for part in latents(decoding, *past)]
    new = {"x": trial.inputs["x"][:, -1:], "weights": weights, "freqs": trial.inputs["freqs"][-1:]}
    got = trial.solve(decoding, {**new, **both_forms(decoding, weights, *caches)})
    return combine({"": near(w, got, trial.result[:, -1:], 2 * growth(w, w.input_scale))})


def _boundary(trial: Trial) -> Judgement:
    """Use the first 255, 256 and 257 of the same tokens; causally, their common rows must also agree."""
    import numpy as np

    factor = growth(trial.workload, trial.workload.input_scale)
    longest = replace(trial.workload, seq=SWITCH + 1, batch=1)
    arrays = make_inputs(longest, trial.inputs["weights"], 1, longest.input_scale)
    expected, parts, before = referee(arrays["weights"]), {}, None
    for seq in (SWITCH - 1, SWITCH, SWITCH + 1):
        w = replace(longest, seq=seq)
        part = {**arrays, "x": arrays["x"][:, :seq], "freqs": arrays["freqs"][:seq]}
        got, rows = trial.solve(w, part), np.unique([*rows_of(seq), seq - 2])
        parts[f"_{seq}"] = near(w, got[:, rows], expected(w, part, rows), factor)
        if w.causal and before is not None:
            parts[f"_{seq}_to_{seq - 1}"] = near(w, got[:, : seq - 1], before, 2 * factor)
        before = got
    return combine(parts)


def _batch_slices(trial: Trial) -> Judgement:
    """Compute sequences of a batch separately; a batch of one is extended by its negative."""
    import numpy as np

    w = trial.workload
    apart = [name for name in trial.inputs if name not in {"weights", "freqs"}]
    alone, parts = replace(w, batch=1), {}
    factor = 2 * growth(w, w.input_scale)
    if w.batch > 1:
        for row in (0, w.batch - 1):
            sequence = {name: trial.inputs[name][row : row + 1] for name in apart}
            got = trial.solve(alone, {**trial.inputs, **sequence})
            parts[f"_{row}"] = near(w, got, trial.result[row : row + 1], factor)
        return combine(parts)
    other = {name: -trial.inputs[name] for name in apart}
    pair = {name: np.concatenate([trial.inputs[name], other[name]]) for name in apart}
    both = trial.solve(replace(w, batch=2), {**trial.inputs, **pair})
    parts["_0"] = near(w, both[:1], trial.result, factor)
    parts["_1"] = near(w, both[1:], trial.call(other), factor)
    return combine(parts)


def _causality(trial: Trial) -> Judgement:
    """Compare bit for bit: a hidden key has weight exactly 0, and equal shapes are summed in one order."""
    import numpy as np

    w = trial.workload
    early, late = 0, 0
    for place in sorted({1, w.seq // 2, w.seq - 1}):
        x = np.array(trial.inputs["x"])
        x[:, place] = -x[:, place] - x.dtype.type(w.input_scale)
        changed = (trial.call({"x": x}) != trial.result).any(axis=(0, 2))
        early += int(changed[:place].sum())
        late += int(changed[place])
    reason = f"{early} rows change when a later token changes" if early else ""
    return Judgement(
        not early and late > 0, {"rows_before": early}, reason or ("" if late else "no row changes at all")
    )


def _fallback_is_naive(trial: Trial) -> Judgement:
    """Count the numbers that differ from `naive`'s on the host: 0 if the same program ran."""
    import numpy as np
    import torch

    from .naive import naive

    def tensors(tree: Any) -> Any:
        if isinstance(tree, Mapping):
            return {name: tensors(part) for name, part in tree.items()}
        if trial.workload.dtype == "bf16" and tree.dtype.kind not in "ifc":
            return torch.from_numpy(np.array(tree).view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(np.array(tree))

    with torch.no_grad():
        naive_result = naive(trial.workload)(**{name: tensors(tree) for name, tree in trial.inputs.items()})
    differing = int((trial.result.astype(np.float64) != naive_result.double().numpy()).sum())
    reason = f"{differing} numbers differ from naive's: another program ran" if differing else ""
    return Judgement(not differing, {"unlike_naive": differing}, reason)


def _prefill(w: MlaWorkload) -> bool:
    return w.phase == "prefill"


def _at_the_switch(w: MlaWorkload) -> bool:
    """Whether the length is next to the switch, so that building three more programs is worthwhile."""
    return _prefill(w) and abs(w.seq - SWITCH) <= 1


CHECKS = (
    Check(
        "equivalence",
        "does a rewritten attention still give the answers of naive and absorb? (DeepSeek-V3 #684)",
        _equivalence,
    ),
    Check(
        "decode_after_prefill",
        "a path that stores other keys must still fit the cache that a decode reads (DeepSeek-V3 #684)",
        _decode_after_prefill,
        when=lambda w: _prefill(w) and w.seq > 1,
    ),
    Check(
        "boundary",
        "answers must not jump where the path changes, above 256 tokens (DeepSeek-V3 #684)",
        _boundary,
        when=_at_the_switch,
    ),
    Check(
        "batch_slices",
        "the claim was made at batch 32: sequences must not affect each other (DeepSeek-V3 #684)",
        _batch_slices,
    ),
    Check(
        "causality",
        "the fast path was measured without a mask; with one, later tokens must not count (DeepSeek-V3 #684)",
        _causality,
        when=lambda w: _prefill(w) and w.causal and w.seq > 1,
    ),
    Check(
        "content_matters",
        "queries and keys keep only their rotated part, so scores lose content (DeepSeek-V3 #684)",
        content_matters,
        when=lambda w: w.cached > 0 or w.seq > 1,
    ),
    Check(
        "fallback_is_naive",
        "1.00x at 512 tokens says that another path ran there: which one? (DeepSeek-V3 #684)",
        _fallback_is_naive,
        when=lambda w: w.new > SWITCH,
        named=("fast_path", "claimed_fast_path"),
    ),
    Check(
        "input_scales",
        "the precision of norm and softmax matters for larger or smaller tokens (DeepSeek-V3 #684)",
        input_scales,
    ),
    Check(
        "no_nan",
        "numerical stability was claimed and not tested (DeepSeek-V3 #684)",
        no_nan,
        modes=("fwd", "bwd", "fwd_bwd"),
    ),
    Check(
        "dtypes",
        "other data types were claimed to be compatible; the printed lines mix two (DeepSeek-V3 #684)",
        dtypes,
        when=lambda w: _prefill(w) and w.weights == "plain",
        named=("as_printed", "fast_path"),
    ),
    Check(
        "fp8_dequant",
        "weight_dequant was removed from the absorbed path: what replaces it? (DeepSeek-V3 #684)",
        fp8_dequant,
        when=lambda w: w.weights == "fp8_block",
    ),
)
