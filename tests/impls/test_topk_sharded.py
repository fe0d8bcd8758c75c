"""The indexer over 128 devices: how its inputs lie there, and what a compiler makes of one share."""

import json
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from impls.topk.family import FAMILY, TopkWorkload
from tests.xla.alone import answer_of

ROOT = Path(__file__).resolve().parents[2]
PRODUCTION = TopkWorkload(
    stage="indexer", devices=128, rows=131072, seq=131072, topk=2048, dtype="bf16", axis="context"
)


def test_one_device_has_no_sharding():
    assert FAMILY.sharding(replace(PRODUCTION, devices=1)) is None
    assert FAMILY.sharding(TopkWorkload(seq=4096)) is None


def test_sharding_splits_rows_and_keys_evenly():
    sharding, shapes = FAMILY.sharding(PRODUCTION), FAMILY.shapes(PRODUCTION)
    assert (sharding.devices, sharding.axis) == (128, "context")
    local = {
        name: tuple(
            size // sharding.devices if split else size
            for size, split in zip(shapes[name].shape, splits, strict=True)
        )
        for name, splits in sharding.inputs.items()
    }
    assert local == {"queries": (1, 1024, 64, 128), "keys": (1, 1024, 128), "weights": (1, 1024, 64)}
    assert sharding.outputs == (None, "context", None)


def test_cost_is_one_devices():
    cost = FAMILY.cost_of("indexer", PRODUCTION)
    assert cost == FAMILY.cost_of("indexer_recall", PRODUCTION)
    assert cost.flops == 2 * 1024 * 131072 * 64 * 129
    assert cost.bytes == 2 * (1024 * 64 * 129 + 131072 * 128) + 1024 * 2048 * 8
    alone = FAMILY.cost_of("indexer", replace(PRODUCTION, devices=1))
    assert alone.flops == 128 * cost.flops


SHARDED = """
import json, re, sys
import jax, numpy as np
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from harness.catalog.arrays import numpy_dtype
from impls.topk.family import FAMILY, TopkWorkload
from impls.topk.indexer_approx import indexer_approx
from impls.topk.indexer_exact import indexer_exact

def compiled(builder, w, devices):
    laid, shapes = FAMILY.sharding(w), FAMILY.shapes(w)
    mesh = Mesh(np.array(devices[:laid.devices]), (laid.axis,))
    at = lambda split: NamedSharding(mesh, P(*split))
    structs = {
        name: jax.ShapeDtypeStruct(array.shape, numpy_dtype(array.dtype), sharding=at(laid.inputs[name]))
        for name, array in shapes.items()
    }
    return jax.jit(builder(w), out_shardings=at(laid.outputs)).lower(**structs).compile()

def told(program):
    text, memory = program.as_text(), program.memory_analysis()
    body, moves = "", []
    for line in text.splitlines():
        body = line.split()[0] if re.match(r"%|ENTRY", line) else body
        found = re.search(r"= (\\S+?)\\{.* (all-\\S+|collective-\\S+|reduce-scatter\\S*)\\(", line)
        if found:
            moves.append([body, found[1]])
    return {
        "moves": moves,
        "sizes": sorted(set(re.findall(r"f32\\[([\\d,]+)\\]", text))),
        "calls": sorted(set(re.findall(r'custom_call_target="([^"]+)"', text))),
        "argument": memory.argument_size_in_bytes,
        "output": memory.output_size_in_bytes,
        "temp": memory.temp_size_in_bytes,
    }

w = TopkWorkload(**json.loads(sys.argv[1]))
devices = topologies.get_topology_desc(platform="tpu", topology_name="v5p:4x4x8").devices
print(json.dumps({b.name: told(compiled(b, w, devices)) for b in (indexer_exact, indexer_approx)}))
"""


@pytest.mark.jax
@pytest.mark.skipif(find_spec("libtpu") is None, reason="compiles for TPUs: pip install libtpu")
@pytest.mark.full
def test_production_shape_over_128_devices():
    """A device scores its 1024 rows against all keys, which are gathered once; no score travels."""
    told = answer_of(ROOT, "-c", SHARDED, json.dumps(asdict(PRODUCTION)))
    for program in told.values():
        assert program["moves"] == [["ENTRY", "bf16[1,131072,128]"]]
        assert "1,1024,131072" in program["sizes"]
        assert not any(shape.count("131072") > 1 for shape in program["sizes"])
        assert program["output"] // (1024 * 2048 * 8) == 1
        assert program["argument"] // (2 * 1024 * (64 * 128 + 128 + 64)) == 1
        assert 1 << 30 <= program["temp"] < 2 << 30
    assert "PartialReduce" in told["indexer_approx"]["calls"]
    assert "PartialReduce" not in told["indexer_exact"]["calls"]
    assert told["indexer_approx"]["temp"] < told["indexer_exact"]["temp"]
