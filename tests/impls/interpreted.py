"""What tests of interpreted kernels share."""

from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KERNELS = [
    pytest.mark.torch,
    pytest.mark.skipif(find_spec("triton") is None, reason="the extra triton is not installed"),
]
