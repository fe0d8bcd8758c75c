"""`gate --static` on a Pallas kernel with a larger block: its VMEM."""

import pytest

from harness.catalog.accelerators import missing_compiler
from tests.cli.test_pallas import BENCH, plugin

pytestmark = [
    pytest.mark.jax,
    pytest.mark.skipif(missing_compiler("tpu") is not None, reason=str(missing_compiler("tpu"))),
]
CHANGE = "{}: double: bytes of VMEM 4194304 -> 8388608"


@pytest.mark.full
def test_a_larger_block_is_named_for_each_target(gate, repositories):
    work = repositories("pallas")
    one_length = BENCH.replace("[100, 2000]", "2000")
    work.commit({"bench.yaml": one_length, "points.py": plugin(), ".gitignore": "results/\n"})
    work.write({"points.py": plugin(block=128)})
    said = gate(work, "--static", "--json", "--against", "git:HEAD", "--all")
    assert "Traceback" not in said.err
    (case,) = said.json["cases"]
    assert case["verdict"] == "regressed", case
    assert all(CHANGE.format(target) in case["reason"] for target in ("tpu:v5p", "tpu:v6e"))
