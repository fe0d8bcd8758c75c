"""Stopping rule: gets the samples round by round, and decides which cases need another round."""

import math
import statistics
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from harness.core.median_interval import LEVEL, median_interval, samples_needed

MAX_ROUNDS = 100  # an interval that is still wide after this number of rounds rarely narrows with more
# A ratio without an interval decides nothing, and without the baseline's rounds no case has an interval. So
# a case gets the fewest rounds with an interval if they take at most INTERVAL_BUDGETS times its budget. A
# baseline gets them if one call takes at most its budget, or at most BASELINE_BUDGETS times the budget and
# BASELINE_SECONDS.
INTERVAL_BUDGETS = 4
BASELINE_BUDGETS, BASELINE_SECONDS = 8, 8.0
STEADY = 2  # times the fewest rounds: their interval is their range, which one disturbed round can set


def longest_baseline_call(budget_s: float) -> float:
    """Seconds of one call up to which a baseline is measured: its budget, or up to 8 budgets within 8 s."""
    return max(budget_s, min(BASELINE_BUDGETS * budget_s, BASELINE_SECONDS))


class Stopping:
    """Decides for each case by the interval of its ratio to its baseline, else of its own median.

    Intervals are at the level `confidence`. `baselines` maps a case to the cases its speedup is relative to
    (itself for a baseline). The budget is in seconds of a case's own turns, at most MAX_ROUNDS turns. It may
    be exceeded for the fewest rounds with an interval, or twice that number if `steady`. `long` cases have
    one more turn, the verified one, after the rounds.
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
        self.levels: dict[str, dict[int, float]] = defaultdict(dict)
        self.turns_s: dict[str, list[float]] = defaultdict(list)
        self.least_s: dict[str, float] = defaultdict(lambda: math.inf)

    def feed(
        self, case: str, round_: int, samples: Sequence[float], seconds: float, calls_s: float = math.inf
    ) -> None:
        """Record one turn of a case: its samples, the seconds that it took, and the seconds of its calls."""
        self.levels[case][round_] = statistics.median(samples)
        self.turns_s[case].append(seconds)
        # The fastest turn, so that load cannot revoke rounds that were already granted.
        self.least_s[case] = min(self.least_s[case], seconds, calls_s)

    def drop(self, case: str) -> None:
        """Forget a case that was settled, so that no other case waits for it."""
        self.levels.pop(case, None)

    def is_narrow(self, case: str) -> bool:
        """Whether the interval extends at most `precision` to either side of its median.

        If no baseline can get enough rounds for an interval (absent, settled, or out of budget), the
        interval of the case's own median decides.
        """
        ratios = [
            self._log_ratios(case, baseline)
            for baseline in self.baselines.get(case, ())
            if baseline != case and self._can_bound(baseline)
        ]
        # Because it is evaluated after every round, the interval covers a little less than its level. That
        # is acceptable: it only decides when to stop, and is labelled as of one process.
        return all(self._interval_is_narrow(values) for values in ratios or [self._log_levels(case)])

    def _can_bound(self, baseline: str) -> bool:
        rounds = len(self.levels[baseline])
        return rounds >= self.fewest or (rounds > 0 and self.is_affordable(baseline))

    def is_affordable(self, case: str) -> bool:
        """Whether another turn, as long as the mean turn so far, stays within the budget."""
        turns = len(self.levels[case])
        if turns == 0:
            return True
        spent_s = sum(self.turns_s[case])
        to_come = 2 if case in self.long else 1
        if turns + to_come <= self._assured_rounds(case):
            return True
        return turns < MAX_ROUNDS and spent_s * (1 + to_come / turns) <= self.budget_s

    def _assured_rounds(self, case: str) -> int:
        """The rounds that a case gets for an interval, even beyond its budget; 0 if they take too long."""
        turn_s = self.least_s[case]
        is_baseline = case in self.baselines.get(case, ())
        most_s = (BASELINE_BUDGETS if is_baseline else INTERVAL_BUDGETS) * self.budget_s
        if self.steady and STEADY * self.fewest * turn_s <= most_s:
            return STEADY * self.fewest
        longest_s = longest_baseline_call(self.budget_s) if is_baseline else most_s / self.fewest
        return self.fewest if turn_s <= longest_s else 0

    def cases_to_sample(self, alive: Sequence[str]) -> list[str]:
        """The cases that need another round: unfinished ones, and the baselines that they need."""
        wanted = {case for case in alive if self.is_affordable(case) and not self.is_narrow(case)}
        needed = {b for case in wanted for b in self.baselines.get(case, ()) if b in alive}
        return [case for case in alive if case in wanted or (case in needed and self.is_affordable(case))]

    def reason(self, case: str) -> str:
        return "interval" if self.is_narrow(case) else "budget"

    def _log_levels(self, case: str) -> list[float]:
        return [math.log(value) for value in self.levels[case].values()]

    def _log_ratios(self, case: str, baseline: str) -> list[float]:
        mine, theirs = self.levels[case], self.levels[baseline]
        return [math.log(theirs[round_] / mine[round_]) for round_ in mine if round_ in theirs]

    def _interval_is_narrow(self, logs: Sequence[float]) -> bool:
        if len(logs) == 0:
            return False
        middle, low, high = median_interval(logs, self.confidence)
        if low is None or high is None:
            return False
        return max(high - middle, middle - low) <= math.log1p(self.precision)
