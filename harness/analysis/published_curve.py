"""A published curve: speedups over length that a document states, drawn beside what was measured here."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PublishedCurve:
    """Speedups of an implementation over another by a document's own times, of its hardware and shapes."""

    implementation: str  # `family/name`
    baseline: str  # `family/name`
    mode: str  # fwd, bwd or fwd_bwd
    source: str  # the document and its hardware: `MSLK #296, GB200`
    points: tuple[tuple[int, float], ...]  # (length, the baseline's time over the implementation's)
