"""Evidence of a gate, as it is stored: the rounds of every pair, and what explains the verdict on a case."""

from dataclasses import dataclass

from harness.gate.timed.decision import Margin, pair_effect


@dataclass(frozen=True)
class Rounds:
    """What one pair measured of a case: the logarithm of candidate over base, per round.

    `levels_s` are the medians over rounds of both sides' values in seconds per call, candidate
    first; `tail` is the logarithm of the ratio of the 90th percentiles over all readings, None with too few.
    """

    pair: int
    case: str
    log_ratios: tuple[float, ...]
    levels_s: tuple[float, float]
    tail: float | None

    @property
    def effect(self) -> float:
        return pair_effect(self.log_ratios)


@dataclass(frozen=True)
class CaseEvidence:
    """The evidence on one case. Effects are logarithms, one per pair of processes.

    `first` are the pairs that led to a verdict, `fresh` those of the confirmation. `rounds` are the log
    ratios of each pair's rounds and `levels_s` the seconds per call of (candidate, base), for the first
    pairs and then the fresh ones. `static` are lines of text about the compiler's figures, and
    `same_program` is None where programs are not known.
    """

    slowdown: float
    first: tuple[float, ...] = ()
    fresh: tuple[float, ...] = ()
    rounds: tuple[tuple[float, ...], ...] = ()
    levels_s: tuple[tuple[float, float], ...] = ()
    static: tuple[str, ...] = ()
    same_program: bool | None = None

    @property
    def margin(self) -> Margin:
        return Margin(self.slowdown)

    @property
    def deciding(self) -> tuple[float, ...]:
        """The pairs that decide: the fresh ones where there are any, else the first."""
        return self.fresh or self.first
