"""The timing of a case's samples: its median is the one that its interval is of."""

import statistics

from harness.run.case.samples import ONE_BY_ONE, Samples


def test_the_median_lies_within_its_interval_where_a_rounds_first_samples_are_slow():
    slow, quick = (9.0, 9.0), (1.0, 1.0, 1.0)
    samples = Samples([(round_, seconds) for round_ in range(7) for seconds in (*slow, *quick)])
    samples.timed += [(7, 9.0)] * 8
    timing = samples.timing(ONE_BY_ONE)
    assert statistics.median(timing.samples_s) == 9.0
    assert (timing.median_s, timing.low_s, timing.high_s) == (1.0, 1.0, 9.0)
