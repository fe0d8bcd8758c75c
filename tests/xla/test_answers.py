"""What functions of harness/xla and harness/cubin answer, and what they refuse, expression by expression."""

import pytest

from harness.cubin import machine_code
from harness.xla import collectives, owners, protobuf
from tests.goldens import assert_answers


@pytest.mark.jax
def test_answers_equal_the_golden_file():
    from harness.xla import pallas_kernels

    modules = (collectives, machine_code, owners, pallas_kernels, protobuf)
    assert_answers("answers_xla.txt", {name: value for each in modules for name, value in vars(each).items()})
