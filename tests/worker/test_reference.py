import ml_dtypes
import numpy as np
import pytest

from harness import Array, Semantics, exact
from harness.core.case import Case
from harness.core.protocol import Job
from harness.worker import reference_worker
from harness.worker.reference import (
    BUDGET_BEFORE_TIMING,
    BUDGET_DURING_TIMING,
    Reference,
    ReferenceBudget,
    RowCost,
    choose_rows,
    measure_cost,
    rows_to_check,
)
from harness.worker.reference_worker import require_described


@pytest.mark.parametrize("answer", [None, "the largest", [None, 1.0], np.array([None])])
def test_a_reference_without_numeric_results_is_reported(answer):
    meaning = Semantics("odd", lambda w, rows: lambda x: answer, exact())
    reference = Reference(meaning, None, None, {"x": np.ones(3, np.float32)})
    with pytest.raises(TypeError, match="is not numeric; return numeric arrays"):
        reference.result(None)


@pytest.mark.torch
class TestOnADevice:
    """A cpu framework that imitates a device without memory: evaluation fails until it moves to the host."""

    @pytest.fixture
    def framework(self):
        torch = pytest.importorskip("torch")
        from harness.worker.frameworks.torch.framework import Torch

        class Crowded(Torch):
            on_device = True

            def put(self, tree):
                if self.on_device:
                    raise torch.cuda.OutOfMemoryError("CUDA out of memory")
                return super().put(tree)

            def move_to_host(self):
                was, self.on_device = self.on_device, False
                return was

        return Crowded()

    def test_a_reference_that_fails_on_the_device_is_evaluated_on_the_cpu(self, framework, capfd):
        meaning = Semantics(
            "double", lambda w, rows: lambda x: 2 * x, exact(), framework="torch", gradient=exact()
        )
        reference = Reference(meaning, framework, None, {"x": np.ones(3, np.float32)})
        assert reference.result(None).tolist() == [2.0, 2.0, 2.0]
        assert reference.gradients(None, (np.ones(3),))["x"].tolist() == [2.0, 2.0, 2.0]
        said = capfd.readouterr()
        assert "evaluated on the cpu" in said.out
        assert "CUDA out of memory" in said.err

    def test_a_reference_that_also_fails_on_the_cpu_raises_that_error(self, framework):
        def answer(x):
            raise ArithmeticError("the reference itself")

        meaning = Semantics("odd", lambda w, rows: answer, exact(), framework="torch")
        with pytest.raises(ArithmeticError, match="itself"):
            Reference(meaning, framework, None, {"x": np.ones(3, np.float32)}).result(None)

    def test_rows_are_limited_to_those_that_the_host_compares_quickly(self, monkeypatch, tmp_path):
        """The cpu imitates a device on which references take no time."""
        from harness.worker.frameworks.torch.framework import Torch

        start = Torch.start
        monkeypatch.setattr(Torch, "reference_device", lambda self, device: device)
        monkeypatch.setattr(
            Torch, "start", lambda self, _, threads, wide: start(self, "cpu", threads, wide=wide)
        )
        monkeypatch.setattr(reference_worker, "VALUES_ON_HOST", 300 * 2 * 8)
        monkeypatch.setattr(reference_worker, "BUDGET_BEFORE_TIMING", ReferenceBudget(60.0, 64))
        case = Case.of("attention/dense", {}, {"seq": 1024, "heads": 2, "head_dim": 8}, "fwd", "cuda")
        job = Job("reference", "torch", "impls.attention.family", case, "g", str(tmp_path), 0, 1, 1 << 30)
        worker = reference_worker.ReferenceWorker(job)
        worker.do_inputs(1)
        worker.do_reference("dense", 0)
        assert len(worker.expected["dense", "set0"].rows) == 256


def seed():
    return np.random.default_rng(5)


@pytest.mark.parametrize(
    ("count", "tile"), [(1, 1), (5, 1), (1000, 256), (1024, 256), (1025, 256), (300, 512), (2, 1)]
)
@pytest.mark.parametrize("wanted", [1, 8, 64, 5000])
def test_first_and_last_rows_and_tile_edges_are_always_chosen(count, tile, wanted):
    rows = choose_rows(count, tile, wanted, seed())
    assert np.array_equal(rows, np.unique(rows))
    assert (rows[0], rows[-1]) == (0, count - 1)
    assert len(rows) == max(min(wanted, count), len(choose_rows(count, tile, 1, seed())))
    if 1 < tile < count:
        last = (count - 1) // tile * tile
        assert {tile - 1, tile, last - 1, last} <= set(rows)


def test_the_choice_is_seeded():
    rows = [choose_rows(10_000, 64, 100, np.random.default_rng(s)) for s in (1, 1, 2)]
    assert np.array_equal(rows[0], rows[1])
    assert not np.array_equal(rows[0], rows[2])


def decide(count, fixed, per_row, passes=1):
    """(chosen rows, evaluated rows) for a reference that takes `fixed` seconds and `per_row` per row."""
    asked = []

    def seconds(rows):
        asked.append(len(rows))
        return fixed + per_row * len(rows)

    cost = measure_cost(count, 64, seconds, seed)
    return rows_to_check(count, 64, cost, passes, BUDGET_BEFORE_TIMING, seed), asked


@pytest.mark.parametrize(
    ("count", "fixed", "per_row", "passes", "judged"),
    [
        (1000, 0.0, 0.9e-3, 1, None),  # up to a second: all rows
        (1000, 0.0, 1.1e-3, 1, 256),
        (1000, 0.5, 0.4e-3, 1, None),
        (1000, 0.0, 0.5e-3, 1, None),
        (1000, 0.0, 0.5e-3, 4, 128),  # a backward has several passes
        (100_000, 0.0, 0.45e-3, 1, 1024),  # a power of two
        (100_000, 0.0, 0.25e-3, 1, 1024),
        (100_000, 100.0, 1e-3, 1, 64),  # at least the minimum
        (100_000, 0.0, 10.0, 1, 64),
    ],
)
def test_the_number_of_checked_rows_fits_the_budget(count, fixed, per_row, passes, judged):
    rows, _ = decide(count, fixed, per_row, passes)
    assert (None if rows is None else len(rows)) == judged


def test_the_first_evaluation_does_not_count():
    calls = iter([1000.0, 0.01, 0.08])
    fixed_s, row_s = measure_cost(1000, 64, lambda rows: next(calls), seed)
    assert (fixed_s, row_s) == pytest.approx((0.0, 0.07 / 56))


def test_fewer_rows_are_checked_during_timing():
    cost = RowCost(0.0, 1e-3)
    assert rows_to_check(1000, 64, cost, 1, BUDGET_BEFORE_TIMING, seed) is None
    assert len(rows_to_check(1000, 64, cost, 1, BUDGET_DURING_TIMING, seed)) == 64
    assert len(rows_to_check(1000, 64, RowCost(10.0, 1.0), 1, BUDGET_DURING_TIMING, seed)) == 16


def test_a_device_evaluates_at_most_the_rows_that_the_host_compares_quickly():
    quick = RowCost(0.0, 1e-9)
    assert rows_to_check(1000, 64, quick, 1, BUDGET_BEFORE_TIMING, seed, 1000) is None
    assert len(rows_to_check(1000, 64, quick, 1, BUDGET_BEFORE_TIMING, seed, 600)) == 512
    assert len(rows_to_check(1000, 64, quick, 1, BUDGET_BEFORE_TIMING, seed, 3)) == BUDGET_BEFORE_TIMING.least


SHAPES = {"x": Array((2, 4), "f32"), "weights": {"up": Array((4,), "bf16")}}


def drawn(**changed):
    return {"x": np.ones((2, 4), "f4"), "weights": {"up": np.ones(4, ml_dtypes.bfloat16)}, **changed}


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        (None, "the return value of inputs() is NoneType in inputs(), missing in shapes()"),
        (drawn(x=1.0), "x is float in inputs(), f32[2, 4] in shapes()"),
        (drawn(x=np.ones((2, 4))), "x is f64[2, 4] in inputs(), f32[2, 4] in shapes()"),
        (drawn(x=np.ones((4, 2), "f4")), "x is f32[4, 2] in inputs(), f32[2, 4] in shapes()"),
        (drawn(x=np.ones((2, 4), ">f4")), "x is >f4[2, 4] in inputs(), f32[2, 4] in shapes()"),
        (drawn(weights={}), "weights.up is missing in inputs(), bf16[4] in shapes()"),
        (drawn(y=np.ones(3)), "y is f64[3] in inputs(), missing in shapes()"),
    ],
)
def test_the_first_difference_is_reported_in_both_forms(inputs, says):
    require_described("points", drawn(), SHAPES)
    with pytest.raises(ValueError, match="the inputs of family points differ from its") as caught:
        require_described("points", inputs, SHAPES)
    assert says in str(caught.value)
