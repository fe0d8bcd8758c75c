"""The indexer over 128 devices: how its inputs are sharded, and the compiled program of one share."""

from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from harness.catalog import discovery
from harness.core.case import Case
from harness.run.compile import CompileRequest, compile_all
from harness.sweep.settings import Settings
from impls.topk.family import FAMILY, TopkWorkload

ROOT = Path(__file__).resolve().parents[2]
PRODUCTION = TopkWorkload(
    stage="indexer", devices=128, rows=131072, seq=131072, topk=2048, dtype="bf16", axis="context"
)


def test_sharding_splits_rows_and_keys():
    assert FAMILY.sharding(replace(PRODUCTION, devices=1)) is None
    sharding = FAMILY.sharding(PRODUCTION)
    assert (sharding.devices, sharding.axis) == (128, "context")
    rows = (None, "context", None)
    assert sharding.inputs == {"queries": (*rows, None), "keys": rows, "weights": rows}
    assert sharding.outputs == rows


@pytest.mark.jax
@pytest.mark.skipif(find_spec("libtpu") is None, reason="compiles for TPUs: pip install libtpu")
@pytest.mark.long
def test_production_shape_over_128_devices():
    """A device scores its 1024 rows against all keys, which are gathered once; scores are not sent."""
    cases = [Case.of(f"topk/indexer_{name}", {}, asdict(PRODUCTION)) for name in ("exact", "approx")]
    asks = [CompileRequest(case, "tpu:v5p:4x4x8") for case in cases]
    limits = Settings(timeout_s=300.0, memory_bytes=2 << 30, threads=1)
    told = compile_all(asks, discovery.catalog(), results=ROOT / "results", settings=limits)
    exact, approx = (told[ask].static for ask in asks)
    for program in (exact, approx):
        assert [(it.count, it.bytes) for it in program.collectives] == [(1, 2 * 131072 * 128)], "bf16 keys"
        assert program.output_bytes // (1024 * 2048 * 8) == 1
        assert program.argument_bytes // (2 * 1024 * (64 * 128 + 128 + 64)) == 1
        assert 1 << 30 <= program.temp_bytes < 2 << 30, "two scores of f32 for each of its rows and all keys"
    assert "PartialReduce" in approx.custom_calls
    assert "PartialReduce" not in exact.custom_calls
    assert approx.temp_bytes < exact.temp_bytes
