"""The largest length that fits a target: doubling until one does not, then halving the gap."""

from __future__ import annotations

from dataclasses import dataclass, field

STEPS = 16  # lengths that are tried between a power of two and the next
LONGEST = 1 << 30


@dataclass
class Search:
    """Fed with what is known of lengths (`tell`), it names the next one to compile, or None at its end.

    `seq` is the largest length known to fit and `beyond` the smallest known not to; lengths between
    grid points are multiples of a sixteenth of the power of two below them. `reason` says why one is None.
    """

    seq: int | None = None
    beyond: int | None = None
    reason: str | None = None
    refused: dict[int, str] = field(default_factory=dict[int, str])

    def tell(self, length: int, *, fits: bool | None, why: str | None = None) -> None:
        if fits is None:
            self.refused[length] = why or "its plan is unavailable"
        elif fits:
            self.seq = max(length, self.seq or 0)
        else:
            self.beyond = min(length, self.beyond or length)

    def next(self) -> int | None:
        if self.reason:
            return None
        length = self._wanted()
        if length is None and self.seq is None:
            self.reason = self.reason or next(iter(self.refused.values()), "no length fits")
        if length in self.refused:
            self.reason = self.refused[length]
            return None
        return length

    def _wanted(self) -> int | None:
        if self.seq is None:
            return self._smaller()
        if self.beyond is None:
            return self._larger()
        if self.beyond <= self.seq:
            self.reason = f"{self.beyond} does not fit, though {self.seq} does"
            return None
        step = max(1, (1 << (self.seq.bit_length() - 1)) // STEPS)
        middle = (self.seq + self.beyond) // 2 // step * step
        return middle if self.seq < middle < self.beyond else None

    def _larger(self) -> int | None:
        length = 1 << (self.seq or 1).bit_length()
        if length > LONGEST:
            self.reason = f"{LONGEST} tokens still fit"
            return None
        return length

    def _smaller(self) -> int | None:
        """The power of two below what does not fit, down to 1."""
        if self.beyond is None or self.beyond == 1:
            return None
        return 1 << ((self.beyond - 1).bit_length() - 1)
