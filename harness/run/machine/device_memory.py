"""The memory of the measured device, and how much each measuring process takes before its first array."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.core.units import parse_bytes

# A process's CUDA context with its libraries' handles takes 500 MiB (H100, driver 580). The buffer that it
# writes to flush the L2 cache takes twice the size of that cache (126 MiB on a B200).
PROCESS_BYTES = 768 << 20


@dataclass(frozen=True)
class DeviceMemory:
    """A device's memory: `total_bytes` is None on the host, where only `--memory` is a limit."""

    total_bytes: int | None = None
    process_bytes: int = 0

    @classmethod
    def of(cls, device: str, facts: Mapping[str, Any]) -> DeviceMemory:
        """The memory of the device that a fingerprint's facts describe."""
        if device != "cuda":
            return cls()
        size = facts["gpu"].get("memory.total", "")  # by nvidia-smi: `81559 MiB`, or `[N/A]`
        return cls(parse_bytes(size) if size.endswith("MiB") else None, PROCESS_BYTES)

    def limit(self, memory_bytes: int) -> int:
        """The bytes that the cases of a group may take together: the smaller of setting and device."""
        return memory_bytes if self.total_bytes is None else min(memory_bytes, self.total_bytes)
