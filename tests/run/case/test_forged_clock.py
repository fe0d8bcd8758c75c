import pytest

from harness.run.case.forged_clock import Turn, forged_reason, is_forged, is_forged_beside


@pytest.mark.parametrize(
    ("walls_s", "forged"),
    [
        ([0.061], False),
        ([0.073], False),  # a seventh longer, with messages and waking
        ([0.075], True),
        ([0.2] * 4 + [0.07], False),  # one that agrees: the machine was busy
        ([0.08] * 5, True),  # a clock at three quarters of its speed
        ([], False),
    ],
)
def test_a_long_reading_alone_is_all_but_its_whole_turn(walls_s, forged):
    assert is_forged([Turn(0.06, wall_s) for wall_s in walls_s]) is forged


def test_no_reading_is_longer_than_its_turn():
    assert not Turn(0.0601, 0.06).is_too_long
    assert Turn(0.07, 0.06).is_too_long


@pytest.mark.parametrize(
    ("read_s", "rest_s", "other_s", "forged"),
    [
        (0.1, 0.01, 0.01, False),
        (0.1, 0.044, 0.01, False),
        (0.1, 0.046, 0.01, True),  # a quarter of what it read beyond twice the other's
        (1e-5, 0.0014, 1e-5, False),  # garbage was collected on one side
        (1e-5, 0.0016, 1e-5, True),
    ],
)
def test_beside_another_side_its_rest_is_the_measure(read_s, rest_s, other_s, forged):
    assert is_forged_beside(read_s, rest_s, other_s) is forged


def test_the_reason_says_what_was_read_and_what_passed():
    assert forged_reason("the base", 0.001, 0.004) == (
        "the base read 1.00 ms where 5.00 ms passed here; leave time.perf_counter alone"
    )
