import numpy as np
import pytest

from harness import Semantics, exact
from harness.worker.reference import Reference


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
