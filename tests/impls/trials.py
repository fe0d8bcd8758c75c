"""Trials of checks like the harness's, without its processes."""

import numpy as np

from harness import Trial
from harness.core.static_figures import Static
from tests.impls.torch_case import flat, named

NOTHING = Static.none("nothing was compiled")


def call_plainly(function, inputs):
    return function(**inputs)


def trial_of(family, w, build, run=call_plainly, *, pull=None, seed=3, static=NOTHING, options=None):
    """The trial of a builder; `run(function, inputs)` is its answer, `pull` that of a backward mode."""
    function = build(w)
    inputs = named(function, family.inputs(w, np.random.default_rng(seed)))
    built = {w: function}

    def call(changed):
        compiled = {name: form for name, *form in flat(inputs)}
        for name, shape, dtype in flat(changed):
            within_a_tree = "." in name  # mla's check of scales passes them in f64
            assert compiled[name] == [shape, compiled[name][1] if within_a_tree else dtype], name
        return (pull or run)(function, {**inputs, **changed})

    def solve(other, arrays):
        described = {name: shape for name, shape, _ in flat(family.shapes(other))}
        assert {name: shape for name, shape, _ in flat(arrays)}.items() <= described.items()
        if other not in built:
            built[other] = build(other)
        return run(built[other], named(built[other], arrays))

    return Trial(w, inputs, call({}), call, solve, static, "bwd" if pull else "fwd", options or {})


def failures(said):
    """The reasons of the checks that fail, by name."""
    return {name: verdict.reason for name, verdict in said.items() if not verdict.passed}
