import numpy as np
import pytest

from harness import Semantics, exact
from harness.core.case import Case
from harness.core.protocol import Job
from harness.worker import reference_worker
from harness.worker.reference import Reference
from harness.worker.row_sampling import Effort


@pytest.mark.parametrize("answer", [None, "the largest", [None, 1.0], np.array([None])])
def test_a_reference_that_gives_no_numbers_is_at_fault_itself(answer):
    meaning = Semantics("odd", lambda w, rows: lambda x: answer, exact())
    reference = Reference(meaning, None, None, {"x": np.ones(3, np.float32)})
    with pytest.raises(TypeError, match="holds no numbers; return numbers"):
        reference.result(None)


def test_plain_numbers_are_an_answer():
    meaning = Semantics("sum", lambda w, rows: lambda x: (sum(x), [1, 2]), exact())
    total, parts = Reference(meaning, None, None, {"x": np.ones(3, np.float32)}).result(None)
    assert (float(total), [int(part) for part in parts]) == (3.0, [1, 2])


@pytest.mark.torch
class TestOnADevice:
    """A device without memory, for which the cpu stands: what is put there fails until it is left."""

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

    def test_a_reference_that_fails_there_is_evaluated_on_the_cpu_and_the_log_says_why(
        self, framework, capfd
    ):
        meaning = Semantics(
            "double", lambda w, rows: lambda x: 2 * x, exact(), framework="torch", gradient=exact()
        )
        reference = Reference(meaning, framework, None, {"x": np.ones(3, np.float32)})
        assert reference.result(None).tolist() == [2.0, 2.0, 2.0]
        assert reference.gradients(None, (np.ones(3),))["x"].tolist() == [2.0, 2.0, 2.0]
        said = capfd.readouterr()
        assert "evaluated on the cpu" in said.out
        assert "CUDA out of memory" in said.err

    def test_a_reference_that_fails_on_the_cpu_too_has_that_error(self, framework):
        def answer(x):
            raise ArithmeticError("the reference itself")

        meaning = Semantics("odd", lambda w, rows: answer, exact(), framework="torch")
        with pytest.raises(ArithmeticError, match="itself"):
            Reference(meaning, framework, None, {"x": np.ones(3, np.float32)}).result(None)

    def test_the_host_compares_no_more_rows_than_it_can_quickly(self, monkeypatch, tmp_path):
        """The cpu stands for a device, on which a reference of any length takes no time."""
        from harness.worker.frameworks.torch.framework import Torch

        start = Torch.start
        monkeypatch.setattr(Torch, "reference_device", lambda self, device: device)
        monkeypatch.setattr(
            Torch, "start", lambda self, _, threads, wide: start(self, "cpu", threads, wide=wide)
        )
        monkeypatch.setattr(reference_worker, "VALUES_ON_HOST", 300 * 2 * 8)
        monkeypatch.setattr(reference_worker, "BEFORE_THE_CLOCK", Effort(60.0, 64))
        case = Case.of("attention/dense", {}, {"seq": 1024, "heads": 2, "head_dim": 8}, "fwd", "cuda")
        job = Job("reference", "torch", "impls.attention.family", case, "g", str(tmp_path), 0, 1, 1 << 30)
        worker = reference_worker.ReferenceWorker(job)
        worker.do_inputs(1)
        worker.do_reference("dense", 0)
        assert len(worker.expected["dense", "set0"].rows) == 256
