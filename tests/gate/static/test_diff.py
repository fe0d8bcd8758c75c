from dataclasses import replace

import pytest

from harness.core.peak_owners import Owner, Owners
from harness.gate.static.diff import StaticFigures, compare

MIB = 2**20
FIGURES = {"flops": 65536, "bytes_accessed": 3 * MIB, "temp_bytes": 4 * MIB, "argument_bytes": 2 * MIB}
FIGURES |= {"output_bytes": MIB, "generated_code_bytes": 0}
BASE = StaticFigures(
    FIGURES, program="sha256:1", flops_source="compiled", contract="exact", passed=True, framework="jax"
)
MEANT = "if it is meant, accept {} in bench.yaml with the reason"
JOINED = (
    "custom call TopK joined: what the compiler cannot count, or an approximation that fell back to exact"
)
CALL_LEFT = "custom call TopK left: another program does its work; " + MEANT.format("custom_calls")
NO_FLOPS = "FLOPs cannot be compared any more"
NOTES_SAY = "nothing differs but what the notes say"


def with_changes(side=BASE, program="sha256:2", **more):
    """`side` with another program; figures by their names, fields by theirs."""
    figures = {name: more.pop(name) for name in FIGURES if name in more}
    return replace(side, program=program, figures={**side.figures, **figures}, **more)


def never(_):
    return None


def accept_only(*figures):
    return lambda figure: "it is meant" if figure in figures else None


def always(_):
    return "it is meant"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"temp_bytes": 8 * MIB}, "temp 4.00 MiB -> 8.00 MiB (2.00×)"),
        ({"temp_bytes": 4 * MIB + 4}, "temp 4194304 B -> 4194308 B (+4 B)"),
        ({"flops": 131072}, "FLOPs 6.55e4 -> 1.31e5 (2.00×)"),
        ({"flops": 65537}, "FLOPs 65536 -> 65537 (+1)"),
        ({"bytes_accessed": 6 * MIB}, "bytes accessed 3.00 MiB -> 6.00 MiB (2.00×)"),
        ({"argument_bytes": 3 * MIB}, "arguments 2.00 MiB -> 3.00 MiB (1.50×)"),
        ({"output_bytes": 2 * MIB}, "outputs 1.00 MiB -> 2.00 MiB (2.00×)"),
        ({"generated_code_bytes": 7}, "generated code 0 B -> 7 B"),
    ],
)
def test_more_of_a_figure_is_a_regression_and_less_an_improvement(change, reason):
    assert compare(BASE, with_changes(**change), never) == ("regressed", reason, ())
    back = compare(with_changes(**change), BASE, never)
    assert (back.verdict, back.notes) == ("improved", ())


def test_every_worse_figure_is_named_and_what_is_better_noted():
    candidate = with_changes(temp_bytes=8 * MIB, flops=131072, output_bytes=MIB // 2)
    assert compare(BASE, candidate, never) == (
        "regressed",
        "FLOPs 6.55e4 -> 1.31e5 (2.00×); temp 4.00 MiB -> 8.00 MiB (2.00×)",
        ("outputs 1.00 MiB -> 512 KiB (0.500×)",),
    )


def planned(*buffers):
    """The owners of a planned peak of these buffers."""
    total = sum(buffer.bytes for buffer in buffers)
    return Owners(total, 0, 0, buffers, (0, 0))


def test_more_memory_names_the_buffer_that_came_at_its_line():
    score = Owner("fusion", "temp", 4 * MIB, "eq", "pred[4194304]", "mask.py:22")
    copy = Owner("copy.1", "temp", 4 * MIB, "copy", "f32[1048576]", "mask.py:24")
    base = replace(BASE, owners=planned(score))
    candidate = with_changes(temp_bytes=8 * MIB, owners=planned(score, copy))
    reason = "temp 4.00 MiB -> 8.00 MiB (2.00×); came: 4 MiB, copy at mask.py:24, f32[1048576]"
    assert compare(base, candidate, never) == ("regressed", reason, ())
    accepted = compare(base, candidate, accept_only("temp_bytes"))
    assert accepted.notes == ("accepted: temp 4.00 MiB -> 8.00 MiB (2.00×): it is meant",)


def test_a_buffer_that_no_larger_figure_counts_is_not_blamed():
    result = Owner("copy.1", "output", 4 * MIB, "copy", "f32[1048576]", "mask.py:24")
    candidate = with_changes(temp_bytes=8 * MIB, owners=planned(result))
    assert "came" not in compare(replace(BASE, owners=planned()), candidate, never).reason


def test_equal_sides():
    assert compare(BASE, BASE, never) == ("unchanged", "same program", ())
    assert compare(BASE, with_changes(), never) == ("unchanged", "another program with the same figures", ())
    assert compare(with_changes(program=None), BASE, never) == ("unchanged", "same figures", ())
    assert compare(with_changes(program=None), with_changes(program=None), never).reason == "same figures"


def test_an_equal_program_that_holds_more_is_a_regression():
    held = with_changes(temp_bytes=8 * MIB, program="sha256:1")
    assert compare(BASE, held, never).verdict == "regressed"


def test_what_is_unavailable_is_never_zero():
    lost = with_changes(flops=None, flops_source=None, unavailable={"flops": "no compiler"})
    assert compare(BASE, lost, never) == ("unchanged", NOTES_SAY, (f"{NO_FLOPS}: no compiler",))
    assert compare(lost, BASE, never) == ("unchanged", "another program with the same figures", ())
    assert compare(lost, with_changes(lost, program="sha256:3"), never).notes == ()


def test_sides_without_a_common_figure_are_unchanged_in_their_contract_only():
    nothing = StaticFigures(dict.fromkeys(FIGURES), "jax", contract="exact", passed=True)
    found = compare(nothing, nothing, never)
    assert found == ("unchanged", "no figure stands on both sides; only the contract is compared", ())


def test_flops_counted_in_two_ways_are_not_compared():
    other = with_changes(flops=10**9, flops_source="matmul_only")
    found = compare(BASE, other, never)
    note = "FLOPs are counted in two ways (compiled, matmul_only) and not compared"
    assert (found.verdict, found.notes) == ("unchanged", (note,))


def test_a_custom_call_that_joins_or_leaves_is_a_regression():
    opaque = with_changes(custom_calls=("TopK",), flops=None, unavailable={"flops": "the custom call TopK …"})
    joined = f"{JOINED}; {MEANT.format('custom_calls')}"
    assert compare(BASE, opaque, never)[:2] == ("regressed", joined)
    assert compare(opaque, BASE, never)[:2] == ("regressed", CALL_LEFT)
    assert compare(opaque, with_changes(opaque, program="sha256:3"), never).verdict == "unchanged"
    found = compare(BASE, opaque, accept_only("custom_calls"))
    notes = (f"accepted: {JOINED}: it is meant", f"{NO_FLOPS}: the custom call TopK …")
    assert found == ("unchanged", NOTES_SAY, notes)


def test_a_figure_is_accepted_alone_or_with_all():
    candidate = with_changes(temp_bytes=8 * MIB, flops=131072)
    temp, flops = "temp 4.00 MiB -> 8.00 MiB (2.00×)", "FLOPs 6.55e4 -> 1.31e5 (2.00×)"
    found = compare(BASE, candidate, accept_only("temp_bytes"))
    assert found == ("regressed", flops, (f"accepted: {temp}: it is meant",))
    notes = (f"accepted: {flops}: it is meant", f"accepted: {temp}: it is meant")
    assert compare(BASE, candidate, always) == ("unchanged", NOTES_SAY, notes)
    traded = with_changes(temp_bytes=8 * MIB, flops=32768)
    found = compare(BASE, traded, accept_only("temp_bytes"))
    assert found[:2] == ("improved", "FLOPs 6.55e4 -> 3.28e4 (0.500×)")


def recall(value, contract="recall"):
    return replace(BASE, contract=contract, contract_figures={"recall": value, "target": 0.95})


@pytest.mark.parametrize(("old", "new"), [(0.971, 0.99999), (1.0, 1.0), (1.0, 0.971), (None, 1.0)])
def test_an_approximation_that_still_approximates_or_never_did(old, new):
    assert compare(recall(old), recall(new), never).verdict == "unchanged"


def test_what_is_said_of_it():
    reason = f"approximates nothing any more: recall 0.971 -> 1; {MEANT.format('contract')}"
    for whole in (1.0, 1):
        assert compare(recall(0.971), recall(whole), never)[:2] == ("regressed", reason)
    assert "recall 0.99999 -> 1" in compare(recall(0.99999), recall(1.0), never).reason
    found = compare(recall(0.971), recall(1.0), accept_only("contract"))
    assert found[:2] == ("unchanged", "same program")
    assert found.notes == ("accepted: approximates nothing any more: recall 0.971 -> 1: it is meant",)
    other = compare(recall(0.971), recall(1.0, "exact"), never)
    assert other.notes == ("the contract was recall and is exact: another result",)
    unjudged = compare(BASE, replace(BASE, passed=None), never)
    assert unjudged.notes == ("the candidate's contract was not judged",)


OK, WRONG = BASE, replace(BASE, status="incorrect", reason="9 elements differ", passed=False)
EXPECTED = replace(WRONG, expected=True)


def side_with(status):
    return StaticFigures(dict.fromkeys(FIGURES), "jax", status=status, reason="it says why")


STATES = {
    "ok": OK,
    "incorrect": WRONG,
    "expected": EXPECTED,
    **{status: side_with(status) for status in ("oom", "timeout", "crashed", "unsupported", "skipped")},
}
FROM_OK = {
    "ok": "unchanged", "incorrect": "incorrect", "expected": "vanished", "oom": "regressed",
    "timeout": "invalid", "crashed": "invalid", "unsupported": "vanished", "skipped": "vanished",
}  # fmt: skip


@pytest.mark.parametrize("now", STATES)
@pytest.mark.parametrize("then", [*STATES, None])
def test_every_pair_of_statuses(then, now):
    found = compare(STATES[then] if then else None, STATES[now], always)
    if then == "ok" or now == "incorrect" or (now in {"crashed", "timeout"} and then != now):
        assert found.verdict == FROM_OK[now]
    elif now == "ok":
        assert found.verdict == ("improved" if then == "oom" else "new")
    else:
        assert found.verdict is None
    assert found.reason


def test_both_sides_of_a_pair_say_why():
    assert compare(OK, STATES["oom"], never).reason == "oom: it says why; the base was ok"
    assert compare(STATES["oom"], OK, never).reason == "fits now; the base was oom (it says why)"
    assert compare(None, OK, never).reason == "the base has no such case"
    assert compare(WRONG, OK, never).reason == "the base was incorrect (9 elements differ)"
    reason = "crashed: it says why; the base was timeout (it says why)"
    assert compare(STATES["timeout"], STATES["crashed"], never).reason == reason
    assert compare(OK, WRONG, never).reason == "9 elements differ"


def test_a_contract_failed_beside_an_ok_status_counts_as_failed():
    failed = replace(BASE, passed=False)
    assert compare(BASE, failed, always)[:2] == ("incorrect", "fails the contract exact")
    assert compare(failed, BASE, never).verdict == "new"


@pytest.mark.parametrize("base", [None, BASE, EXPECTED])
def test_an_expected_failure_that_passes_is_incorrect(base):
    found = compare(base, replace(BASE, expected=True), always)
    assert found.verdict == "incorrect"
    assert "take its expect= away" in found.reason


@pytest.mark.parametrize("base", [None, BASE])
def test_what_compiles_in_timed_code_is_invalid(base):
    found = compare(base, replace(BASE, compiles=1), always)
    assert found.verdict == "invalid"
    assert found.reason.startswith("compiles in timed code, once in calls after the first; keep shapes")
    assert "3 times" in compare(base, replace(BASE, compiles=3), never).reason
    assert compare(replace(BASE, compiles=3), BASE, never).verdict == "unchanged"
    assert compare(base, replace(WRONG, compiles=1), never).verdict == "incorrect"
