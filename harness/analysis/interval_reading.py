"""The word for a ratio of two times that its interval allows; the ratio alone decides nothing."""

from harness.analysis.stats import Estimate

FASTER, SLOWER, SAME = "faster", "slower", "about the same"
UNDECIDED, NO_INTERVAL = "undecided", "no interval"
SAME_UP_TO = 1.1  # an interval that contains 1 and reaches further from it leaves open whether they differ


def read_interval(times: Estimate) -> str:
    """FASTER, SLOWER, SAME, UNDECIDED or NO_INTERVAL of a case, from its time in units of another's."""
    if times.low is None or times.high is None:
        return NO_INTERVAL
    if not times.low <= 1 <= times.high:
        return FASTER if times.high < 1 else SLOWER
    return SAME if times.low >= 1 / SAME_UP_TO and times.high <= SAME_UP_TO else UNDECIDED
