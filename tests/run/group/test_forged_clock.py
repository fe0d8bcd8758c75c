import pytest

from harness.run.group.forged_clock import forged_alone, forged_beside, forged_reason


@pytest.mark.parametrize(
    ("read_s", "rest_s", "turns", "forged"),
    [
        (1.0, 1.0, 10, False),  # an untimed call before each reading
        (1.0, 2.4, 10, False),
        (1.0, 2.6, 10, True),
        (1e-6, 0.4, 10, False),  # messages and waking
        (1e-6, 0.6, 10, True),
    ],
)
def test_a_case_alone_explains_its_rest_by_calls_and_messages(read_s, rest_s, turns, forged):
    assert forged_alone(read_s, rest_s, turns) is forged


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
    assert forged_beside(read_s, rest_s, other_s) is forged


def test_the_reason_says_what_was_read_and_what_passed():
    assert forged_reason("the base", 0.001, 0.004) == (
        "the base read 1.00 ms where 5.00 ms passed here; leave time.perf_counter alone"
    )
