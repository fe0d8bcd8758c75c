from harness.catalog import accelerators

GIB = 2**30


def test_a_driver_names_exactly_one_device_and_no_variant_of_it():
    names = [name for device in accelerators.accelerators().values() for name in device.called]
    assert len(names) == len(set(names)) == 4
    assert accelerators.accelerator_called("NVIDIA H200").name == "cuda:h200"
    assert accelerators.accelerator_called("NVIDIA H100 PCIe") is None


def test_every_file_cites_its_source():
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
