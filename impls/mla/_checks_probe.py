"""Probes for the checks: other tokens with the same weights, and the reference's answers to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from harness import Judgement, Trial, cast

from ._inputs import cache, frequencies
from .reference import dense, dequantise
from .workload import MlaWorkload

SWITCH = 256  # up to so many new tokens #684 takes another path
ROWS = 12


def answer_to(trial: Trial, arrays: Mapping[str, Any]) -> Any:
    """The answer to these arrays, without arrays that the implementation does not take."""
    return trial.call({name: array for name, array in arrays.items() if name in trial.inputs})


def tokens(w: MlaWorkload, seed: int, scale: float) -> Any:
    import numpy as np

    values = np.random.default_rng(seed).standard_normal((w.batch, w.new, w.widths.dim))
    return cast(values * scale, w.dtype)


def make_inputs(w: MlaWorkload, weights: Any, seed: int, scale: float) -> dict[str, Any]:
    """Other tokens, and another cache if there is one, with the same weights."""
    import numpy as np

    arrays = {"x": tokens(w, seed, scale), "weights": weights, "freqs": frequencies(w)}
    if w.cached:
        arrays |= cache(w, weights, np.random.default_rng(seed + 1))
    return arrays


def rows_of(count: int) -> Any:
    """Some rows, including the first, the last and both sides of the switch."""
    import numpy as np

    spread = np.linspace(0, count - 1, min(count, ROWS)).astype(int)
    edges = [row for row in (SWITCH - 1, SWITCH) if row < count]
    return np.unique([*spread, *edges])


def to_f64(tree: Any) -> Any:
    """Floating-point arrays as tensors in double precision, on the host."""
    import numpy as np
    import torch

    if isinstance(tree, Mapping):
        return {name: to_f64(part) for name, part in tree.items()}
    if tree.dtype.kind in "iu":
        return torch.from_numpy(np.array(tree))
    return torch.from_numpy(tree.astype(np.complex128 if tree.dtype.kind == "c" else np.float64))


def referee(weights: Mapping[str, Any]) -> Callable[..., Any]:
    """The reference's answers with these weights: keys and values computed directly, in f64."""
    import torch

    weights_f64 = dequantise(to_f64(weights))

    def expected(w: MlaWorkload, arrays: Mapping[str, Any], rows: Any = None) -> Any:
        names = ("x", "freqs", *(("cache_ckv", "cache_kpe") if w.cached else ()))
        with torch.no_grad():
            return dense(w, rows)(
                weights=weights_f64, **{name: to_f64(arrays[name]) for name in names}
            ).numpy()

    return expected


def combine(parts: Mapping[str, Judgement], **more: float | str | None) -> Judgement:
    """Combine the judgements of all parts: all must pass, and each reports its relative error."""
    figures = {f"relative_rms{name}": part.figures.get("relative_rms") for name, part in parts.items()}
    bad = [
        f"{name.strip('_').replace('_', ' ')}: {part.reason}".removeprefix(": ")
        for name, part in parts.items()
        if not part.passed
    ]
    return Judgement(not bad, {**figures, **more}, "; ".join(bad))
