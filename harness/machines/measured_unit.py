"""What a node sends to the driver for a unit of a sweep."""

from collections.abc import Mapping
from dataclasses import dataclass, field


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
    """A node's answer for its unit. Without `measured` the node is lost, and `why` says how."""

    node: str
    measured: MeasuredUnit | None
    why: str = ""
