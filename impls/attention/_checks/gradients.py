"""Checks for lost gradients: an exact forward does not test the lists that a backward uses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness import Judgement, Trial

from .probe import COMPRESSED, SELECTED, WINDOW, branch_gates, make_inputs, to_f64, weights

BRANCHES = {"compressed": COMPRESSED, "selected": SELECTED, "window": WINDOW}
UNLIKE = 1.01  # weights of different random keys differ by more


def _gradients_of_branch(trial: Trial, branch: int) -> dict[str, Any]:
    """The gradients with one branch shown, as float64."""
    gates = make_inputs(trial.workload, gates=branch_gates(branch))["gates"]
    return {name: to_f64(x) for name, x in trial.call({"gates": gates})["gradients"].items()}


def branch_grad_nonzero(trial: Trial) -> Judgement:
    """Each branch by itself passes gradients on to queries, keys and values."""
    import numpy as np

    figures: dict[str, float | int | str | None] = {}
    bad = []
    for name, branch in BRANCHES.items():
        pulled = _gradients_of_branch(trial, branch)
        sizes = [float(np.abs(pulled[of]).max()) for of in ("q", "k", "v")]
        figures[name] = float(np.min(sizes))
        bad += [
            f"the gradient of {of} through the {name} branch is {size:g}"
            for of, size in zip("qkv", sizes, strict=True)
            if not (np.isfinite(size) and size > 0)
        ]
    return Judgement(not bad, figures, "; ".join(bad))


def gradient_reaches(trial: Trial) -> Judgement:
    """Keys and values have a gradient exactly if the forward read them, branch by branch.

    A forward of copies, with ones at different keys, shows which rows read which keys. Rows whose gates have
    no gradient (their cotangent was zeroed) require none. Rows that read only one key, or one mean, require
    no gradient of keys: a softmax over one has none.
    """
    import numpy as np

    w = trial.workload
    first = {name: to_f64(trial.inputs[name][:1]) for name in ("q", "k")}
    figures: dict[str, float | int | str | None] = {}
    bad = []
    for name, branch in BRANCHES.items():
        # [rows, key heads, query heads of each, keys]
        read = weights(trial, replace(w, batch=1), branch, **first).reshape(w.seq, w.kv_heads, -1, w.seq)
        pulled = _gradients_of_branch(trial, branch)
        live = (pulled["gates"][0] != 0).any(axis=-1).reshape(*read.shape[:3], 1)
        least = np.where(read > 0, read, np.inf).min(axis=-1, keepdims=True)
        several = read.max(axis=-1, keepdims=True) > least * UNLIKE
        lost = stray = 0
        for of, oblige in (("v", live), ("k", live & several)):
            has = (pulled[of][0] != 0).any(axis=-1)
            may, must = ((read * which != 0).any(axis=(0, 2)).T for which in (1, oblige))
            lost, stray = lost + int((must & ~has).sum()), stray + int((has & ~may).sum())
        figures[f"{name}_lost"], figures[f"{name}_stray"] = lost, stray
        if lost or stray:
            bad.append(f"{name}: {lost} keys that are read have no gradient, {stray} unread keys have one")
    return Judgement(not bad, figures, "; ".join(bad))


def gradient_reaches_dense(trial: Trial) -> Judgement:
    """The last query reads every key, so each key and each value has a gradient."""
    import numpy as np

    pulled = trial.result["gradients"]
    lost = {name: int((~np.any(to_f64(pulled[name]) != 0, axis=-1)).sum()) for name in ("k", "v")}
    bad = [f"{count} keys have no gradient of {name}" for name, count in lost.items() if count]
    return Judgement(not bad, {f"lost_{name}": count for name, count in lost.items()}, "; ".join(bad))
