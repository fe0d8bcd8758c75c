"""The devices of a target that is not at hand, as jax's compilers take them."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import jax
from jax.experimental import topologies

from harness.catalog.accelerators import Accelerator, target, why_not_by_xla
from harness.core.errors import Unsupported

LIBRARIES = {"dnn_version_info": (9, 10, 0), "runtime_version": (13, 0, 0)}  # cuDNN and CUDA to compile for


@cache
def devices(name: str) -> list[Any]:
    """The devices of a target's topology, in its order. Unsupported without its compiler."""
    wanted = target(name)
    if missing := why_not_by_xla(wanted):
        raise Unsupported(missing)
    if wanted.accelerator is None:
        raise Unsupported("the host compiles with its own backend")
    if wanted.kind == "tpu":
        options: dict[str, Any] = {"topology_name": wanted.topology}
    else:
        shape = wanted.topology
        config = target_config(wanted.accelerator)
        options = {"topology_name": shape, "topology": shape, "target_config": config}
    try:
        return list(topologies.get_topology_desc(platform=wanted.kind, **options).devices)
    except jax.errors.JaxRuntimeError as error:
        if not str(error).startswith("INVALID_ARGUMENT"):
            raise
        why = str(error).splitlines()[0]
        raise Unsupported(f"{name}: its compiler refuses the topology ({why})") from None


def lowering_for(device: Any) -> AbstractContextManager[Any]:
    """Make this the device that Pallas kernels query for the TPU they are lowered for.

    An abstract mesh would do that too, but jax 0.10.2 then lowers kernels differently than on a TPU.
    """
    return jax.default_device(device)


def target_config(gpu: Accelerator) -> str:
    """XLA's GpuTargetConfig as text, from the accelerator's file."""
    facts = dict(gpu.gpu)
    major, _, minor = str(facts.pop("compute_capability")).partition(".")
    fields: dict[str, Any] = {
        **facts,
        "memory_bandwidth": int(gpu.bandwidth_bytes_s),
        "device_memory_size": gpu.memory_bytes,
        "cuda_compute_capability": {"major": int(major), "minor": int(minor)},
    }
    versions = {
        name: dict(zip(("major", "minor", "patch"), parts, strict=True)) for name, parts in LIBRARIES.items()
    }
    named = {"gpu_device_info": fields, "platform_name": "CUDA", **versions}
    return _text({**named, "device_description_str": gpu.chip})


def _text(message: Mapping[str, Any]) -> str:
    """A protocol buffer's text form."""
    parts: list[str] = []
    for name, value in message.items():
        if isinstance(value, Mapping):
            parts.append(f"{name} {{ {_text(value)} }}")
        else:
            parts.append(f'{name}: "{value}"' if isinstance(value, str) else f"{name}: {value}")
    return " ".join(parts)
