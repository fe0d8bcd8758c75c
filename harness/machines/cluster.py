"""What the driver of a sweep needs of a cluster: an engine that runs methods of a node where the node is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True)
class MeasuredUnit:
    """A unit as a node stored it: its run's files, and in `doubt` why the node's noise speaks against it.

    `became` counts its cases by status, in words; `messages` are what its run had to say. `compiled` are the
    files of the node's compile cache that the driver did not have.
    """

    unit: int
    run: str
    files: Mapping[str, bytes]
    became: str
    doubt: str | None = None
    messages: tuple[str, ...] = ()
    compiled: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


@dataclass(frozen=True)
class NodeAnswer:
    """What a node made of the unit that it had. Without `measured` the node is lost, and `why` says how."""

    node: str
    measured: MeasuredUnit | None
    why: str = ""


class Cluster(Protocol):
    """Nodes by name, each with a :class:`harness.machines.node.MeasuringNode` of its own."""

    def ask(self, method: str, *arguments: Any, nodes: Sequence[str] | None = None) -> dict[str, Any]:
        """Call a method on all nodes, or these, at once: its answer, or a SeqsweepError, by node."""
        ...

    def submit(self, unit: int, node: str) -> None:
        """Let a node measure a unit; it has no other one."""
        ...

    def poll(self) -> Sequence[NodeAnswer]:
        """Wait until a node has an answer, or is lost."""
        ...

    def close(self) -> None: ...
