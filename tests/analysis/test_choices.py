"""`choose_by_length` and `suite_choices`, on records whose times are powers of the length."""

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis.choices import suite_choices
from tests.analysis.conftest import suite_of, timed_record
from tests.records import record_of, static_of

GRID = [1024, 4096, 16384, 65536]
NOISE = 0.02
SHARED = [1.0, 1.3, 0.9, 1.1, 1.0, 1.2, 0.8, 1.05]  # of a round, on all sides alike
OWN = [1 + NOISE * part for part in (-1, 1, 0, -1, 1, 0, -0.5, 0.5)]


def power(scale, exponent):
    return lambda seq: scale * (seq / 8192) ** exponent


def timed(name, seq, seconds, turn=0, rounds=8, **more):
    own = OWN[turn:] + OWN[:turn]
    samples = [seconds * shared * mine for shared, mine in zip(SHARED, own, strict=True)]
    return timed_record(name, seq, samples[:rounds], **more)


def measured(times, grid=GRID, **more):
    return [
        timed(name, seq, time(seq), turn, **more)
        for seq in grid
        for turn, (name, time) in enumerate(times.items())
    ]


def choices_of(records, **more):
    (point,) = suite_choices(suite_of(records), {}, **more).points.values()
    return point


@given(st.lists(st.tuples(st.floats(0.3, 3), st.floats(0, 2.5)), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_no_choice_is_certainly_slower_than_the_best(laws):
    """For times that are any powers of the length."""
    times = {"base": power(1, 1), **{f"i{at}": power(*law) for at, law in enumerate(laws)}}
    point = choices_of(measured(times))
    for seq in GRID:
        called = point.choice_at(seq).implementation
        assert called in point.not_slower[seq]
        # A ratio's interval is at most as wide as the noise of both sides, above and below.
        best = min(time(seq) for time in times.values())
        assert times[called.removeprefix("mask/")](seq) <= best * (1 + NOISE) ** 4


def test_a_faster_implementation_is_called_from_its_first_length_after_a_dead_zone():
    times = {"base": power(1, 1), "flat": power(1, 0)}  # equal at 8Ki
    first, second = choices_of(measured(times)).choices
    assert (first.first, first.implementation, first.speedup.value) == (1, "mask/base", None)
    assert (second.first, second.implementation, second.former) == (16384, "mask/flat", "mask/base")
    assert second.speedup.low < 2 < second.speedup.high
    assert second.dead_zone == (4097, 16384), "at 4Ki it is slower"


def test_an_uncertain_lead_does_not_change_the_choice():
    times = {"base": power(1, 1), "twin": power(0.999, 1)}
    point = choices_of(measured(times))
    assert [choice.implementation for choice in point.choices] == ["mask/base"]
    assert set(point.undecided.values()) <= {"mask/twin"}
    assert point.not_slower[1024] == ("mask/base", "mask/twin")


def test_the_same_program_is_never_faster():
    program = {"static": {"host": static_of(program="sha256:1", flops=1)}}
    records = [
        timed(name, seq, seconds, **program)
        for seq in GRID
        for name, seconds in (("base", 1.0), ("same", 0.5))
    ]
    assert [choice.implementation for choice in choices_of(records).choices] == ["mask/base"]


def test_an_implementation_that_fails_is_not_called_beyond_its_last_length():
    times = {"base": power(1, 1), "quick": power(0.5, 1), "slow": power(3, 1)}
    records = [
        record for record in measured(times) if record.implementation != "mask/quick" or record.seq < 16384
    ]
    records += [record_of("quick", seq, status="oom") for seq in (16384, 65536)]
    found = suite_choices(suite_of(records), {})
    (point,) = found.points.values()
    assert [(c.first, c.implementation, c.reason) for c in point.choices] == [
        (1, "mask/quick", ""),
        (4097, "mask/base", "mask/quick does not run at 16Ki"),
    ]
    assert found.left_out == {"mask/quick": "at 16Ki, 64Ki (oom)"}


def test_without_a_baseline_time_the_fastest_is_called():
    times = {"slow": power(3, 1), "quick": power(0.5, 1)}
    records = [*measured(times), *(record_of("base", seq, status="oom") for seq in GRID)]
    assert [choice.implementation for choice in choices_of(records).choices] == ["mask/quick"]


def test_candidates_have_the_baselines_semantics_and_conditions():
    records = measured({"base": power(1, 1)})
    for name, more in {
        "other": {"semantics": "approximate"},
        "bound": {"bound": "rel_rms 0.02"},
        "seed": {"seed": 1},
        "run": {"run": "20261121T113000Z-1a2b3c4"},
        "machine": {"fingerprint": "sha256:2"},
    }.items():
        records += [timed(name, seq, 0.1, **more) for seq in GRID]
    found = suite_choices(suite_of(records), {})
    assert [choice.implementation for point in found.points.values() for choice in point.choices] == [
        "mask/base"
    ]
    inexact = "(not mathematically equivalent to the baseline; --inexact includes it)"
    everywhere = "at 1Ki, 4Ki, 16Ki, 64Ki (measured under other conditions)"
    assert found.left_out == {
        "mask/other": inexact,
        "mask/bound": inexact,
        **dict.fromkeys(("mask/seed", "mask/run", "mask/machine"), everywhere),
    }
    assert choices_of(records, inexact=True).choices[0].implementation in {"mask/other", "mask/bound"}


def test_each_point_of_the_other_axes_has_separate_choices():
    records = [
        *measured({"base": power(1, 1), "fast": power(0.1, 1)}, workload={"rows": 8}),
        *measured({"base": power(1, 1), "fast": power(9, 1)}, workload={"rows": 64, "later": 3}),
    ]
    found = suite_choices(suite_of(records), {"later": 1})
    assert found.axes == ("later", "rows")
    assert {values: point.choices[0].implementation for values, point in found.points.items()} == {
        (1, 8): "mask/fast",
        (3, 64): "mask/base",
    }
    assert found.fixed == {"batch": 1, "dtype": "f32", "mode": "fwd", "device": "cpu"}
