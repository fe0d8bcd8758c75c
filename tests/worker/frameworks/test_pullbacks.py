"""Backwards of both frameworks on a function with gradients in closed form."""

import numpy as np
import pytest

from harness.catalog.arrays import Array
from harness.core.errors import Unsupported
from harness.worker import array_files
from harness.worker.frameworks import base as frameworks
from harness.worker.frameworks.base import TraceLimits
from tests.worker.frameworks.start import start_framework

NAMES = [pytest.param("torch", marks=pytest.mark.torch), pytest.param("jax", marks=pytest.mark.jax)]
SHAPES = {
    "count": Array((3,), "i32"),
    "phase": Array((3,), "c64"),
    "x": Array((3,), "f64"),
    "weights": {"z": Array((3,), "f64"), "a": Array((3,), "f64"), "index": Array((3,), "i64")},
    "idle": Array((2, 2), "f64"),
}
INPUTS = {
    "count": np.array([1, 2, 3], np.int32),
    "phase": np.array([1j, 1, 1 + 1j], np.complex64),
    "x": np.array([2.0, 3.0, 5.0]),
    "weights": {"z": np.array([7.0, 8.0, 9.0]), "a": np.ones(3), "index": np.array([2, 0, 1])},
    "idle": np.zeros((2, 2)),
}
SEEDS = (np.array([1.0, 10.0, 100.0]), np.array(0.5))
EXPECTED = {
    "x": SEEDS[0] * INPUTS["weights"]["z"] * INPUTS["count"] + 2 * INPUTS["x"] * SEEDS[1],
    "weights": {"z": SEEDS[0] * INPUTS["x"] * INPUTS["count"], "a": np.zeros(3)},
    "idle": np.zeros((2, 2)),
}


def function(idle, weights, x, phase, count):
    """Results in a dict with an integer leaf: y = x z count, s = Σx², and the counts."""
    return {"y": x * weights["z"] * count, "s": (x * x).sum(), "n": count + weights["index"]}


@pytest.fixture(scope="module", params=NAMES)
def framework(request):
    yield from start_framework(request.param)


def bound(framework, function, mode, seeds=(SEEDS[1], SEEDS[0]), names=tuple(SHAPES)):
    """The timed call; `seeds` are in the order of the sorted names of the floating leaves: s, y.

    torch's is bound without its trace, which would fork this process.
    """
    inputs = framework.put(INPUTS)
    cotangent = None if mode == "fwd" or seeds is None else framework.put(seeds)
    if "torch" in type(framework).__module__:
        import torch

        from harness.worker.frameworks.torch.binding import bind

        with torch.set_grad_enabled(mode != "fwd"):
            call = bind(function, names, mode, inputs, cotangent)

        def with_grad():
            with torch.set_grad_enabled(mode != "fwd"):
                return call()

        return with_grad
    return framework.prepare(function, names, SHAPES, mode, TraceLimits(10, 1 << 40)).bind(inputs, cotangent)


def same(got, want):
    assert array_files.map_leaves(got, lambda leaf: np.asarray(leaf).tolist()) == array_files.map_leaves(
        want, lambda leaf: np.asarray(leaf).tolist()
    )


@pytest.mark.parametrize("mode", ["bwd", "fwd_bwd"])
def test_the_default_cotangent_is_ones(framework, mode):
    x, z, count = INPUTS["x"], INPUTS["weights"]["z"], INPUTS["count"]
    gradients = framework.get(bound(framework, function, mode, seeds=None)())["gradients"]
    same(
        {name: gradients[name] for name in ("x", "idle")}, {"x": z * count + 2 * x, "idle": np.zeros((2, 2))}
    )


@pytest.mark.parametrize("mode", ["bwd", "fwd_bwd"])
def test_gradients_have_the_names_of_their_inputs(framework, mode):
    call = bound(framework, function, mode)
    for _ in range(2):
        result = framework.get(call())
        assert set(result) == ({"gradients"} if mode == "bwd" else {"gradients", "result"})
        same(result["gradients"], EXPECTED)


@pytest.mark.parametrize("mode", ["fwd", "fwd_bwd"])
def test_a_result_has_its_original_structure(framework, mode):
    result = framework.get(bound(framework, function, mode)())
    result = result if mode == "fwd" else result["result"]
    x, weights, count = INPUTS["x"], INPUTS["weights"], INPUTS["count"]
    same(result, {"y": x * weights["z"] * count, "s": np.sum(x * x), "n": count + weights["index"]})


@pytest.mark.parametrize("mode", ["bwd", "fwd_bwd"])
def test_a_cotangent_of_another_form_is_refused(framework, mode):
    with pytest.raises(TypeError, match="the floating parts of the result have shapes"):
        bound(framework, lambda x: x, mode, (np.ones(4),), ("x",))()


@pytest.mark.parametrize("mode", ["bwd", "fwd_bwd"])
def test_a_result_without_dependence_on_inputs_has_no_backward(framework, mode):
    with pytest.raises((TypeError, Unsupported), match=r"no backward|have shapes"):
        bound(framework, lambda count: count + 1, mode, (np.ones(3),), ("count",))()


@pytest.mark.jax
class TestJax:
    @pytest.fixture
    def jax_framework(self):
        pytest.importorskip("jax")
        made = frameworks.get("jax")
        made.start("cpu", 1, wide=False)
        return made

    def static(self, framework, mode, function=None):
        shapes = {"x": Array((64, 32), "f32"), "y": Array((32, 16), "f32"), "idle": Array((999,), "f32")}
        function = function or (lambda x, y, idle: x @ y)
        return framework.prepare(function, tuple(shapes), shapes, mode, TraceLimits(10, 1 << 40)).static

    def test_a_pullback_is_a_separate_program(self, jax_framework):
        product, result = 2 * 64 * 32 * 16, 4 * 64 * 16
        inputs = 4 * (64 * 32 + 32 * 16)
        forward, backward = self.static(jax_framework, "fwd"), self.static(jax_framework, "bwd")
        assert (forward.flops, forward.argument_bytes) == (product, inputs), "without the unused input"
        assert (backward.flops, backward.argument_bytes) == (2 * product, inputs + result)
        assert self.static(jax_framework, "fwd_bwd").flops == 3 * product
        assert len({forward.program, backward.program}) == 2
