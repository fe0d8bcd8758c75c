"""The memory of the measured device, and what each measuring process takes of it before its first array."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.core.fingerprint_identity import CACHES
from harness.core.units import parse_bytes

CONTEXT_BYTES = 500 << 20  # of one process's CUDA context with its libraries' handles; H100, driver 580
FLUSHES = 2  # times its L2 cache is the buffer that a process writes to flush it


@dataclass(frozen=True)
class DeviceMemory:
    """`total_bytes` of the device; None on the host, where `--memory` alone is the limit."""

    total_bytes: int | None = None
    context_bytes: int = 0  # of each process
    flush_bytes: int = 0  # of each process: its buffer to flush the L2 cache

    @classmethod
    def of(cls, device: str, facts: Mapping[str, Any]) -> DeviceMemory:
        """The memory of the device that a fingerprint's facts describe, as far as they say."""
        if device != "cuda":
            return cls()
        size = facts["gpu"].get("memory.total", "")  # by nvidia-smi: `81559 MiB`, or `[N/A]`
        l2_bytes = facts[CACHES]["GPU L2"].get("bytes", 0)
        return cls(parse_bytes(size) if size.endswith("MiB") else None, CONTEXT_BYTES, FLUSHES * l2_bytes)

    @property
    def process_bytes(self) -> int:
        return self.context_bytes + self.flush_bytes

    def limit(self, memory_bytes: int) -> int:
        """The bytes that the cases of a group may take together: of the setting and the device the less."""
        return memory_bytes if self.total_bytes is None else min(memory_bytes, self.total_bytes)
