import pytest

from harness.catalog import accelerators
from harness.catalog.accelerators import memory_of, target
from harness.core.errors import UsageError

GIB = 2**30


@pytest.mark.parametrize(
    ("name", "kind", "topology"),
    [
        ("host", "host", None), ("tpu:v5e", "tpu", "v5e:2x2"), ("tpu:v5p", "tpu", "v5p:2x2x1"),
        ("tpu:v6e", "tpu", "v6e:2x2"), ("tpu:7x", "tpu", "tpu7x:2x2x1"),
        ("tpu:7x:4x4x4", "tpu", "tpu7x:4x4x4"), ("tpu:v5p:4x4x8", "tpu", "v5p:4x4x8"),
        ("cuda:a100", "cuda", "1x1x1"), ("cuda:h100", "cuda", "1x1x1"), ("cuda:h200", "cuda", "1x1x1"),
        ("cuda:b200", "cuda", "1x1x1"), ("cuda:sm_86", "cuda", None),
    ],
)  # fmt: skip
def test_targets_by_name(name, kind, topology):
    found = target(name)
    assert (found.name, found.kind, found.topology) == (name, kind, topology)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tpu:v9", "unknown target"), ("tpu:v5", 'nearest: "tpu:v5p"'),
        ("cuda:h20", 'nearest: "cuda:h200"'), ("cuda:h200:2x2", "a GPU target is one device"),
        ("tpu:v5p:4x4", "has 3 sides, as in 2x2x1"), ("tpu:v6e:0x4", "has 2 sides"),
        ("tpu:v6e:", "has 2 sides"), ("cuda:h200:", "a GPU target is one device"),
        ("cuda:sm_91", 'nearest: "cuda:sm_90"'),
        ("host:1", "unknown target"), ("", "unknown target"), ("tpu:v5p:4x4x8\n", "has 3 sides"),
    ],
)  # fmt: skip
def test_what_is_no_target_is_refused_with_the_nearest(name, said):
    with pytest.raises(UsageError, match=said):
        target(name)


def test_of_a_capability_alone_no_device_is_known():
    assert target("cuda:sm_90").accelerator is None
    assert memory_of("cuda:sm_90") is None
    assert "XLA compiles for one" in accelerators.why_not_by_xla(target("cuda:sm_90"))
    assert accelerators.why_not_by_xla(target("host")) is None


def test_a_driver_names_exactly_one_device_and_no_variant_of_it():
    names = [name for device in accelerators.accelerators().values() for name in device.called]
    assert len(names) == len(set(names)) == 4
    assert accelerators.accelerator_called("NVIDIA H200").name == "cuda:h200"
    assert accelerators.accelerator_called("NVIDIA H100 PCIe") is None


def test_every_file_says_where_its_figures_are_from():
    for found in accelerators.accelerators().values():
        assert found.source
        assert found.memory_bytes > GIB
        assert found.bandwidth_bytes_s > 1e11
        assert found.peak_flops["bf16"] > 1e14
        assert found.gpu or found.topology


def test_vector_operations_are_lanes_times_units_times_cores_times_clock():
    known = accelerators.accelerators()
    assert known["tpu:v5p"].vector_ops == 8 * 128 * 4 * 2 * 1.75e9
    assert known["tpu:v5e"].vector_ops == 8 * 128 * 4 * 1 * 1.5e9
    assert {name for name, one in known.items() if one.vector_ops} == {"tpu:v5p", "tpu:v5e"}
    assert all("scaling-book" in one.source for one in known.values() if one.vector_ops)
