"""What was objected to DeepSeek-V3 #684, which came without a test, as checks that a variant can fail.

The contract holds a variant to its reference on the seeded inputs of one workload; here it meets
other tokens, other sizes and its own answers to parts of the same question. Two answers that are both
within the dtype's bound of the truth are within twice the bound of each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from harness import Check, Judgement, Trial, Unsupported, leaves

from ._bounds import FORWARD, growth, near
from ._checks_probe import SWITCH, asked, given, referee, rows_of, together, wide
from ._inputs import both_forms, inputs, plain
from .reference import dequantised, latents
from .workload import MlaWorkload


def _equivalence(trial: Trial) -> Judgement:
    """Other tokens, of the seeded size, 16 times smaller and 4 times larger."""
    w, rows = trial.workload, rows_of(trial.workload.new)
    expected, parts = referee(trial.inputs["weights"]), {}
    for name, factor in {"": 1.0, "_small": 1 / 16, "_large": 4.0}.items():
        scale = w.input_scale * factor
        arrays = given(w, trial.inputs["weights"], 1, scale)
        got = asked(trial, arrays)[:, rows]
        parts[name] = near(w, got, expected(w, arrays, rows), growth(w, scale))
    return together(parts)


def _decode_after_prefill(trial: Trial) -> Judgement:
    """All tokens but the last become a cache, by the reference; the last is decoded."""
    import torch

    w, weights = trial.workload, trial.inputs["weights"]
    decoding = replace(w, seq=w.seq - 1, phase="decode")
    with torch.no_grad():
        past = (wide(trial.inputs["x"][:, :-1]), dequantised(wide(weights)), wide(trial.inputs["freqs"][:-1]))
        kept = [part.numpy() for part in latents(decoding, *past)]
    new = {"x": trial.inputs["x"][:, -1:], "weights": weights, "freqs": trial.inputs["freqs"][-1:]}
    got = trial.solve(decoding, {**new, **both_forms(decoding, weights, *kept)})
    return together({"": near(w, got, trial.result[:, -1:], 2 * growth(w, w.input_scale))})


def _boundary(trial: Trial) -> Judgement:
    """The first 255, 256 and 257 of the same tokens; causally, their common rows are the same too."""
    import numpy as np

    factor = growth(trial.workload, trial.workload.input_scale)
    longest = replace(trial.workload, seq=SWITCH + 1, batch=1)
    arrays = given(longest, trial.inputs["weights"], 1, longest.input_scale)
    expected, parts, before = referee(arrays["weights"]), {}, None
    for seq in (SWITCH - 1, SWITCH, SWITCH + 1):
        w = replace(longest, seq=seq)
        part = {**arrays, "x": arrays["x"][:, :seq], "freqs": arrays["freqs"][:seq]}
        got, rows = trial.solve(w, part), np.unique([*rows_of(seq), seq - 2])
        parts[f"_{seq}"] = near(w, got[:, rows], expected(w, part, rows), factor)
        if w.causal and before is not None:
            parts[f"_{seq}_to_{seq - 1}"] = near(w, got[:, : seq - 1], before, 2 * factor)
        before = got
    return together(parts)


def _batch_slices(trial: Trial) -> Judgement:
    """Sequences of a batch by themselves; a batch of one is doubled, beside its negative."""
    import numpy as np

    w = trial.workload
    apart = [name for name in trial.inputs if name not in {"weights", "freqs"}]
    alone, parts = replace(w, batch=1), {}
    factor = 2 * growth(w, w.input_scale)
    if w.batch > 1:
        for row in (0, w.batch - 1):
            mine = {name: trial.inputs[name][row : row + 1] for name in apart}
            got = trial.solve(alone, {**trial.inputs, **mine})
            parts[f"_{row}"] = near(w, got, trial.result[row : row + 1], factor)
        return together(parts)
    other = {name: -trial.inputs[name] for name in apart}
    pair = {name: np.concatenate([trial.inputs[name], other[name]]) for name in apart}
    both = trial.solve(replace(w, batch=2), {**trial.inputs, **pair})
    parts["_0"] = near(w, both[:1], trial.result, factor)
    parts["_1"] = near(w, both[1:], trial.call(other), factor)
    return together(parts)


def _causality(trial: Trial) -> Judgement:
    """Bit for bit: a hidden key weighs exactly 0, and equal shapes are added in one order."""
    import numpy as np

    w = trial.workload
    early, late = 0, 0
    for place in sorted({1, w.seq // 2, w.seq - 1}):
        x = np.array(trial.inputs["x"])
        x[:, place] = -x[:, place] - x.dtype.type(w.input_scale)
        changed = (trial.call({"x": x}) != trial.result).any(axis=(0, 2))
        early += int(changed[:place].sum())
        late += int(changed[place])
    reason = f"{early} rows change with a later token" if early else ""
    return Judgement(
        not early and late > 0, {"rows_before": early}, reason or ("" if late else "no row changes at all")
    )


def doubled(w: MlaWorkload, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """`wkv_b` twice as large, and so content in keys, and values; rotated keys stay."""
    import numpy as np

    name = "wkv_b" if w.weights == "plain" else "wkv_b_scale"
    weights = {**arrays["weights"], name: arrays["weights"][name] * arrays["weights"][name].dtype.type(2)}
    changed = {"weights": weights}
    if "cache_k" in arrays:
        two = arrays["cache_k"].dtype.type(2)
        keys = np.array(arrays["cache_k"])
        keys[..., : w.widths.nope] *= two
        changed |= {"cache_k": keys, "cache_v": arrays["cache_v"] * two}
    return changed


def _content_matters(trial: Trial) -> Judgement:
    """Twice the content and the values: a result that is just doubled has scores without content.

    Tokens are normal ones, whatever their size in the workload: tiny ones have no scores to speak of.
    """
    import numpy as np

    w = trial.workload
    rows = rows_of(w.new)
    arrays = given(w, trial.inputs["weights"], 1, 1.0)
    twice = {**arrays, **doubled(w, arrays)}

    def change(answer: Any) -> float:
        once, then = (np.asarray(answer(a)).astype(np.float64) for a in (arrays, twice))
        return float(np.sqrt(np.mean((then - 2 * once) ** 2) / np.mean(4 * once**2)))

    wanted = change(lambda a: referee(a["weights"])(w, a, rows))
    if wanted < 8 * FORWARD[w.dtype]:
        raise Unsupported("so few scores hardly tell content; use more tokens")
    got = change(lambda a: asked(trial, a)[:, rows])
    reason = f"the result moves by {got:.1e} of its size where scores have content; {wanted:.1e} is right"
    passed = got > wanted / 2
    return Judgement(passed, {"change": got, "change_expected": wanted}, "" if passed else reason)


def _fallback_is_naive(trial: Trial) -> Judgement:
    """How many numbers differ from `naive`'s on the host: none where the same program has run."""
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
        made = naive(trial.workload)(**{name: tensors(tree) for name, tree in trial.inputs.items()})
    unlike = int((trial.result.astype(np.float64) != made.double().numpy()).sum())
    reason = f"{unlike} numbers are other than naive's: another program ran" if unlike else ""
    return Judgement(not unlike, {"unlike_naive": unlike}, reason)


def _input_scales(trial: Trial) -> Judgement:
    """Much larger tokens stay finite; latents are normalised, so a first token's own value stays too.

    Tokens as small as the norm's ε meet the reference. In f16 both stay where scores are numbers.
    """
    import numpy as np

    w = trial.workload
    large, small = (16.0, 2.0**-4) if w.dtype == "f16" else (1024.0, 2.0**-10)
    expected, rows = referee(trial.inputs["weights"]), rows_of(w.new)
    arrays = given(w, trial.inputs["weights"], 1, small)
    parts = {"_small": near(w, asked(trial, arrays)[:, rows], expected(w, arrays, rows))}
    arrays = given(w, trial.inputs["weights"], 1, large)
    got = asked(trial, arrays)
    broken = int((~np.isfinite(got.astype(np.float64))).sum())
    if w.phase == "prefill" and w.causal:
        parts["_large_first"] = near(w, got[:, :1], expected(w, arrays, np.array([0])))
    verdict = together(parts, not_finite=broken)
    if not broken:
        return verdict
    text = f"{broken} results are not finite where tokens are {large:g} times larger"
    return replace(verdict, passed=False, reason=text)


def _no_nan(trial: Trial) -> Judgement:
    """On the seeded tokens, on tokens of zeros alone and between others, and on equal ones."""
    import numpy as np

    x = trial.inputs["x"]
    between, equal = np.array(x), np.array(x)
    between[:, ::2] = 0
    equal[:] = x[:, :1]
    scenes = {"": None, "_zero": np.zeros_like(x), "_zero_between": between, "_equal": equal}
    counts = {}
    for name, changed in scenes.items():
        result = trial.result if changed is None else trial.call({"x": changed})
        parts = [np.asarray(leaf).astype(np.float64) for _, leaf in leaves(result)]
        counts[f"not_finite{name}"] = sum(int((~np.isfinite(part)).sum()) for part in parts)
    bad = [f"{count} numbers are {name.replace('_', ' ')}" for name, count in counts.items() if count]
    return Judgement(not bad, counts, "; ".join(bad))


def _fp8_dequant(trial: Trial) -> Judgement:
    """Scales that differ by powers of two from block to block; then plain weights, dequantised before."""
    import numpy as np

    w, random = trial.workload, np.random.default_rng(1)
    weights = dict(trial.inputs["weights"])
    for name in [name for name in weights if name.endswith("_scale")]:
        weights[name] = weights[name] * np.float32(2) ** random.integers(-1, 2, weights[name].shape)
    want = trial.solve(replace(w, weights="plain"), {**trial.inputs, "weights": plain(w, weights)})
    got = trial.call({"weights": weights})
    differing = int((got != want).sum())
    return together({"": near(w, got, want, 2 * growth(w, w.input_scale))}, differing=differing)


def _dtypes(trial: Trial) -> Judgement:
    """A sequence in each of the four, with weights and tokens of its own; a refusal is a failure here."""
    import numpy as np

    parts = {}
    for dtype in FORWARD:
        w = replace(trial.workload, dtype=dtype, batch=1)
        arrays, rows = inputs(w, np.random.default_rng(1)), rows_of(w.new)
        try:
            got = trial.solve(w, arrays)[:, rows]
        except Unsupported as refusal:
            parts[f"_{dtype}"] = Judgement(False, {}, str(refusal))
            continue
        expected = referee(arrays["weights"])(w, arrays, rows)
        parts[f"_{dtype}"] = near(w, got, expected, growth(w, w.input_scale))
    return together(parts)


def _prefill(w: MlaWorkload) -> bool:
    return w.phase == "prefill"


def _at_the_switch(w: MlaWorkload) -> bool:
    """Asked for with the lengths around it, so that other lengths need not build three programs more."""
    return _prefill(w) and abs(w.seq - SWITCH) <= 1


CHECKS = (
    Check(
        "equivalence",
        "does a rewritten attention still give the answers of naive and absorb? (DeepSeek-V3 #684)",
        _equivalence,
    ),
    Check(
        "decode_after_prefill",
        "a path that keeps other keys must still fit the cache that a decode reads (DeepSeek-V3 #684)",
        _decode_after_prefill,
        when=lambda w: _prefill(w) and w.seq > 1,
    ),
    Check(
        "boundary",
        "answers must not jump where another path begins, above 256 tokens (DeepSeek-V3 #684)",
        _boundary,
        when=_at_the_switch,
    ),
    Check(
        "batch_slices",
        "the claim was made at batch 32: a sequence must not feel the others (DeepSeek-V3 #684)",
        _batch_slices,
    ),
    Check(
        "causality",
        "the fast path was measured without a mask; with one nothing later may show (DeepSeek-V3 #684)",
        _causality,
        when=lambda w: _prefill(w) and w.causal and w.seq > 1,
    ),
    Check(
        "content_matters",
        "queries and keys keep their rotated part alone, so scores lose content (DeepSeek-V3 #684)",
        _content_matters,
        when=lambda w: w.phase == "decode" or w.seq > 1,
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
        "a norm and a softmax in another precision change with the size of tokens (DeepSeek-V3 #684)",
        _input_scales,
    ),
    Check(
        "no_nan",
        "numerical stability was claimed and not tested (DeepSeek-V3 #684)",
        _no_nan,
        modes=("fwd", "bwd", "fwd_bwd"),
    ),
    Check(
        "dtypes",
        "other data types were claimed to be compatible; the lines printed mix two (DeepSeek-V3 #684)",
        _dtypes,
        when=lambda w: _prefill(w) and w.weights == "plain",
        named=("as_printed", "fast_path"),
    ),
    Check(
        "fp8_dequant",
        "weight_dequant is gone from the absorbed path: how is it covered? (DeepSeek-V3 #684)",
        _fp8_dequant,
        when=lambda w: w.weights == "fp8_block",
    ),
)
