"""Evidence on one case: what a gate stores so that a verdict can be explained later."""

from dataclasses import dataclass
from itertools import chain

from harness.gate.outcome import CaseVerdict, refuse_no_effects
from harness.gate.timed.decision import Margin


@dataclass(frozen=True)
class CaseEvidence:
    """The stored evidence on one case. Effects are logarithms, one per pair of processes.

    `first` are the pairs that led to a verdict, `fresh` those of the confirmation. `rounds` are the
    log ratios of each pair's rounds and `levels_s` the seconds per call of (candidate, base), for the
    first pairs and then the fresh ones. `static` are lines of text about the compiler's figures, and
    `same_program` is None where programs are not known. `neighbours` are other lengths of the same
    case: (seq, verdict, effect).
    """

    case: str
    verdict: CaseVerdict
    slowdown: float
    first: tuple[float, ...] = ()
    fresh: tuple[float, ...] = ()
    rounds: tuple[tuple[float, ...], ...] = ()
    levels_s: tuple[tuple[float, float], ...] = ()
    static: tuple[str, ...] = ()
    same_program: bool | None = None
    neighbours: tuple[tuple[int, str, float | None], ...] = ()

    def __post_init__(self) -> None:
        neighbours = (effect for _, _, effect in self.neighbours if effect is not None)
        refuse_no_effects((*self.first, *self.fresh, *neighbours, *chain.from_iterable(self.rounds)))
        if not all(level > 0 for pair in self.levels_s for level in pair):
            raise ValueError("a level is a positive number of seconds")

    @property
    def margin(self) -> Margin:
        return Margin(self.slowdown)

    @property
    def deciding(self) -> tuple[float, ...]:
        """The pairs that decide: the fresh ones where there are any, else the first."""
        return self.fresh or self.first
