"""Numerical checks: tokens of other sizes, zeros and NaN, doubled content, other dtypes, fp8 scales."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from harness import Judgement, Trial, Unsupported, leaves

from ._bounds import FORWARD, growth, near
from ._checks_probe import answer_to, combine, make_inputs, referee, rows_of
from ._inputs import inputs, plain
from .workload import MlaWorkload


def double_content(w: MlaWorkload, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Double `wkv_b`, and so values and the content of keys; rotated keys stay."""
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


def content_matters(trial: Trial) -> Judgement:
    """Double content and values: if the result merely doubles, scores ignore content.

    Tokens have normal size, independent of the workload, because the scores of tiny tokens are negligible.
    """
    import numpy as np

    w = trial.workload
    rows = rows_of(w.new)
    arrays = make_inputs(w, trial.inputs["weights"], 1, 1.0)
    twice = {**arrays, **double_content(w, arrays)}

    def change(answer: Any) -> float:
        once, then = (np.asarray(answer(a)).astype(np.float64) for a in (arrays, twice))
        return float(np.sqrt(np.mean((then - 2 * once) ** 2) / np.mean(4 * once**2)))

    expected = change(lambda a: referee(a["weights"])(w, a, rows))
    if expected < 8 * FORWARD[w.dtype]:
        raise Unsupported("too few tokens to tell whether scores depend on content; use more tokens")
    got = change(lambda a: answer_to(trial, a)[:, rows])
    reason = f"the result changes by {got:.1e} of its size if scores have content; {expected:.1e} is right"
    passed = got > expected / 2
    return Judgement(passed, {"change": got, "change_expected": expected}, "" if passed else reason)


def input_scales(trial: Trial) -> Judgement:
    """Results for much larger tokens stay finite; latents are normalised, so the first token's value stays.

    Results for tokens as small as the norm's ε agree with the reference. For f16 both sizes are limited to a
    range in which scores are finite.
    """
    import numpy as np

    w = trial.workload
    large, small = (16.0, 2.0**-4) if w.dtype == "f16" else (1024.0, 2.0**-10)
    expected, rows = referee(trial.inputs["weights"]), rows_of(w.new)
    arrays = make_inputs(w, trial.inputs["weights"], 1, small)
    parts = {"_small": near(w, answer_to(trial, arrays)[:, rows], expected(w, arrays, rows))}
    arrays = make_inputs(w, trial.inputs["weights"], 1, large)
    got = answer_to(trial, arrays)
    not_finite = int((~np.isfinite(got.astype(np.float64))).sum())
    if w.phase == "prefill" and w.causal:
        parts["_large_first"] = near(w, got[:, :1], expected(w, arrays, np.array([0])))
    verdict = combine(parts, not_finite=not_finite)
    if not not_finite:
        return verdict
    text = f"{not_finite} results are not finite if tokens are {large:g} times larger"
    return replace(verdict, passed=False, reason=text)


def no_nan(trial: Trial) -> Judgement:
    """For the seeded tokens, for only zeros, for zeros between other tokens, and for equal tokens."""
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


def fp8_dequant(trial: Trial) -> Judgement:
    """Scales that differ by powers of two from block to block, compared with weights dequantised before."""
    import numpy as np

    w, random = trial.workload, np.random.default_rng(1)
    weights = dict(trial.inputs["weights"])
    for name in [name for name in weights if name.endswith("_scale")]:
        weights[name] = weights[name] * np.float32(2) ** random.integers(-1, 2, weights[name].shape)
    want = trial.solve(replace(w, weights="plain"), {**trial.inputs, "weights": plain(w, weights)})
    got = trial.call({"weights": weights})
    differing = int((got != want).sum())
    return combine({"": near(w, got, want, 2 * growth(w, w.input_scale))}, differing=differing)


def dtypes(trial: Trial) -> Judgement:
    """One sequence in each of the four dtypes, with its own weights and tokens; a refusal fails the check."""
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
    return combine(parts)
