"""Ray nodes on this machine, each with a core in Ray's books and a folder of its own for temporary files."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

LABEL = {"role": "measures"}
OBJECT_BYTES = 128 << 20  # Ray's least is 75 MiB; by default each node would reserve a third of the memory


@contextmanager
def local_nodes(
    folder: Path,
    environments: Sequence[Mapping[str, str]],
    settings: Mapping[str, Any] | None = None,
) -> Generator[tuple[Any, list[Any]]]:
    """A cluster, and a node for each of these environments.

    `settings` are Ray's own. ImportError without Ray.
    """
    cluster = import_module("ray.cluster_utils").Cluster(
        initialize_head=True,
        head_node_args={
            "num_cpus": 0,
            "include_dashboard": False,
            "object_store_memory": OBJECT_BYTES,
            **({"_system_config": dict(settings)} if settings else {}),
        },
    )
    try:
        nodes: list[Any] = []
        for number, environment in enumerate(environments):
            own = folder / f"node{number}"
            own.mkdir()
            nodes.append(
                cluster.add_node(
                    num_cpus=1,
                    labels=LABEL,
                    object_store_memory=OBJECT_BYTES,
                    env_vars={"TMPDIR": str(own), "RAY_worker_niceness": "0", **environment},
                )
            )
        yield cluster, nodes
    finally:
        cluster.shutdown()
