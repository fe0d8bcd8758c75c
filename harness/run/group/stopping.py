"""The stopping rule: fed one round at a time, it decides whether a case needs more."""

import math
import statistics
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from harness.core.median_interval import LEVEL, median_interval, samples_needed

MAX_ROUNDS = 100  # a limit like the budget: an interval still wide after these rarely narrows with more
# A ratio without an interval decides nothing, and every rival's is lost with the baseline's. So a case gets
# the fewest rounds that give one where they take no more than so many budgets, and a baseline wherever one of
# its calls takes no more than so many budgets, or seconds.
INTERVAL_BUDGETS = 4
BASELINE_BUDGETS, BASELINE_SECONDS = 8, 8.0
STEADY = 2  # times the fewest: these end at the extremes of their rounds, which one restless round may set


def longest_baseline_call(budget_s: float) -> float:
    """Seconds of one call up to which a baseline is measured: eight budgets, but 8 s at most."""
    return max(budget_s, min(BASELINE_BUDGETS * budget_s, BASELINE_SECONDS))


class Stopping:
    """Decides per case by the interval of its ratio to its baseline, else of its own median.

    Intervals are at the level `confidence`. `baselines` maps a case to the cases its speedup is relative to
    (itself for a baseline). The budget is in seconds of a case's own turns, and MAX_ROUNDS turns. It is
    exceeded for the fewest rounds with an interval, and for twice as many if that is to be `steady`. `long`
    are the cases whose last turn, on values of its own, is still to come when all others have had theirs.
    """

    def __init__(
        self,
        baselines: Mapping[str, Sequence[str]],
        precision: float,
        budget_s: float,
        long: Collection[str] = (),
        confidence: float = LEVEL,
        *,
        steady: bool = False,
    ) -> None:
        self.baselines, self.long, self.steady = baselines, long, steady
        self.confidence, self.fewest = confidence, samples_needed(confidence)
        self.precision = precision
        self.budget_s = budget_s
        self.level: dict[str, dict[int, float]] = defaultdict(dict)
        self.turns_s: dict[str, list[float]] = defaultdict(list)

    def feed(self, case: str, round_: int, samples: Sequence[float], seconds: float) -> None:
        """One turn of a case: its readings, and the seconds the turn took."""
        self.level[case][round_] = statistics.median(samples)
        self.turns_s[case].append(seconds)

    def drop(self, case: str) -> None:
        """A case died: its readings are gone, and no other case waits for them."""
        self.level.pop(case, None)

    def narrow(self, case: str) -> bool:
        """Whether the interval extends at most the precision to either side of its median.

        A baseline that will never have enough rounds for an interval (absent, dead, or out of budget)
        must not keep a case waiting: then the interval of the case's own median decides.
        """
        ratios = [
            self._ratio(case, baseline)
            for baseline in self.baselines.get(case, ())
            if baseline != case and self._can_bound(baseline)
        ]
        # Looked at after every round, an interval covers a little less than its level. It
        # decides when to stop and is shown as of one process; verdicts are the gate's.
        return all(self._is_narrow(values) for values in ratios or [self._own(case)])

    def _can_bound(self, baseline: str) -> bool:
        rounds = len(self.level[baseline])
        return rounds >= self.fewest or (rounds > 0 and self.affordable(baseline))

    def affordable(self, case: str) -> bool:
        """Whether another turn, as long as the mean of those before, stays within the budget."""
        turns = len(self.level[case])
        if turns == 0:
            return True
        spent_s = sum(self.turns_s[case])
        to_come = 2 if case in self.long else 1
        if turns + to_come <= self._assured(case):
            return True
        return turns < MAX_ROUNDS and spent_s * (1 + to_come / turns) <= self.budget_s

    def _assured(self, case: str) -> int:
        """How many rounds a case gets for an interval, whatever its budget is; 0 where they take too long."""
        turn_s = min(self.turns_s[case])  # so that a load does not end in five rounds what began as six
        is_baseline = case in self.baselines.get(case, ())
        most_s = (BASELINE_BUDGETS if is_baseline else INTERVAL_BUDGETS) * self.budget_s
        if self.steady and STEADY * self.fewest * turn_s <= most_s:
            return STEADY * self.fewest
        longest_s = longest_baseline_call(self.budget_s) if is_baseline else most_s / self.fewest
        return self.fewest if turn_s <= longest_s else 0

    def active(self, alive: Sequence[str]) -> list[str]:
        """The cases that need another round: those not finished, and the baselines they need."""
        wanted = {case for case in alive if self.affordable(case) and not self.narrow(case)}
        needed = {b for case in wanted for b in self.baselines.get(case, ()) if b in alive}
        return [case for case in alive if case in wanted or (case in needed and self.affordable(case))]

    def stopped(self, case: str) -> str:
        return "interval" if self.narrow(case) else "budget"

    def _own(self, case: str) -> list[float]:
        return [math.log(value) for value in self.level[case].values()]

    def _ratio(self, case: str, baseline: str) -> list[float]:
        mine, theirs = self.level[case], self.level[baseline]
        return [math.log(theirs[round_] / mine[round_]) for round_ in mine if round_ in theirs]

    def _is_narrow(self, logs: Sequence[float]) -> bool:
        if len(logs) == 0:
            return False
        middle, low, high = median_interval(logs, self.confidence)
        if low is None or high is None:
            return False
        return max(high - middle, middle - low) <= math.log1p(self.precision)
