"""`machines:` of bench.yaml: clusters by name, and which of their nodes to measure on."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.core.errors import UsageError
from harness.sweep.yaml.nodes import Entry, YamlMapping, scalar, table

KEYS = ("address", "accelerator", "labels", "exclusive")
ACCELERATOR = "ray.io/accelerator-type"  # Ray's own label of what it found on a node


@dataclass(frozen=True)
class MachinePool:
    """The nodes of the Ray cluster at `address` that carry all of these `labels`.

    `exclusive`: one measurement at a time on a node; otherwise one on each of its accelerators.
    """

    name: str
    address: str = "auto"
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    exclusive: bool = True


def pools_of(pools: Mapping[str, Entry]) -> dict[str, MachinePool]:
    """The pools under `machines`, by name. UsageError, with its place, for what is not a pool."""
    return {name: _pool(name, table(pool.node, f"machines {name}")) for name, pool in pools.items()}


def _pool(name: str, keys: YamlMapping) -> MachinePool:
    if noise := keys.entries.get("noise"):
        raise UsageError(
            f"{noise.where}: noise was removed: a machine's load is a doubt of each case; delete the key"
        )
    keys.refuse_unknown(KEYS, f"of machines {name}")
    texts = {key: scalar(entry.node, key) for key, entry in keys.entries.items() if key != "labels"}
    labels = {label: scalar(value.node, label).text for label, value in keys.section("labels").items()}
    if "accelerator" in texts:
        labels[ACCELERATOR] = texts["accelerator"].text
    exclusive = texts.get("exclusive")
    if exclusive and not isinstance(exclusive.value, bool):
        raise UsageError(f'{exclusive.where}: exclusive "{exclusive.text}": write true or false')
    address = texts["address"].text if "address" in texts else MachinePool.address
    one_each = exclusive is None or exclusive.value is True
    return MachinePool(name, address, labels, one_each)
