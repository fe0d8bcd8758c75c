"""From pairs to sentences: the looks, the reasons, and what a gate says of each of its cases."""

import json
import math
from dataclasses import replace

import pytest

from harness.core.errors import MachineError, UsageError
from harness.gate.options import GateOptions
from harness.gate.outcome import (
    INCORRECT,
    NEW,
    NOT_ENOUGH,
    REGRESSED,
    TIME,
    UNCHANGED,
    VANISHED,
    CaseVerdict,
    GateOutcome,
)
from harness.gate.plan import GatePlan
from harness.gate.sides.side import Side
from harness.gate.timed import run as module
from harness.gate.timed.decision import CaseEvidence, Margin, Rounds
from harness.gate.timed.paired_case import BASE, CANDIDATE, LEFT_OUT
from harness.gate.timed.run import (
    HEADER,
    StoredGate,
    TimedResult,
    decision_reason,
    looks,
    new_folder,
    newest_gate,
    store_gate,
)
from harness.gate.timed.sequential_test import SequentialTest
from harness.run.case.case_state import KernelsRun
from harness.sweep.settings import Accept
from tests.gate.timed.fakes import pair_of
from tests.run.plans import case, catalog, schedule

ASKING = GateOptions(against=None, max_pairs=12, budget_s=300.0, inconclusive="fail")
SLOW, SAME, FAST = [0.1, 0.101, 0.099, 0.1], [0.001, -0.001, 0.0, 0.002], [-0.1, -0.101, -0.099, -0.1]
WIDE = [0.3, -0.3, 0.3, -0.3]


EVEN = (4, 6, 8, 10, 12)


LOOKS = {4: (4,), 5: (4, 5), 6: (4, 6), 12: EVEN, 13: (*EVEN, 13), 24: tuple(range(4, 25, 2))}


@pytest.mark.parametrize(("most", "found"), LOOKS.items())
def test_it_looks_at_four_and_then_at_every_second_and_the_last(most, found):
    assert looks(most) == found


def ledger_of(*effects, advisory=False, steps=EVEN, name="scatter"):
    advised = [case(name).id] if advisory else []
    sequential_test = SequentialTest({case(name).id: Margin(looks=steps)}, advised)
    for effect in effects:
        sequential_test.feed(case(name).id, effect)
    return sequential_test


REASONS = [
    (SLOW + SLOW, {}, "more than 2.5 % slower on 4 pairs, and again on 4 fresh ones"),
    (SLOW, {"advisory": True}, "more than 2.5 % slower on 4 pairs"),
    (FAST, {}, "more than 2.5 % faster on 4 pairs"),
    (SAME, {}, "a slowdown of 5 % is excluded"),
    (SLOW + SAME, {}, "not confirmed: 4 pairs said regressed, fresh ones do not"),
    (WIDE, {"steps": (4,)}, "open after 4 pairs: raise --max-pairs, or measure on a quieter machine"),
    ([1.0, 0.9], {}, "more than twice as slow in a first pair of processes, and again in a fresh one"),
]


@pytest.mark.parametrize(("effects", "how", "reason"), REASONS)
def test_every_verdict_has_its_reason(effects, how, reason):
    assert decision_reason(ledger_of(*effects, **how).cases[case().id]) == reason


def gate_plan(*names, **more):
    sides = {name: Side(name, name, catalog()) for name in (CANDIDATE, BASE)}
    opponents = {case(name): case(name) for name in names or ("scatter",)}
    plan = schedule(names or ("scatter",), (1024,))
    return GatePlan(plan, sides, opponents, deltas={"mask": 0.05}, **more)


def compose(paired_cases, sequential_test, asked, rounds=()):
    timed = TimedResult(tuple(paired_cases), sequential_test, {case().id: rounds})
    return {one.case.split("@")[0]: one for one in module.verdicts(asked, timed, ASKING)}


def test_a_verdict_stands_with_its_interval_and_its_place():
    found = compose([pair_of()], ledger_of(*SLOW, *SLOW), gate_plan())["mask/scatter"]
    assert (found.verdict, found.pairs, found.file, found.line) == (REGRESSED, 4, "scatter.py", 1)
    assert found.effect == pytest.approx(0.1)
    assert found.low < found.effect < found.high


def test_no_budget_makes_a_verdict_between_looks():
    sequential_test = ledger_of(*SLOW, 0.1, steps=(6,))
    verdict = compose([pair_of()], sequential_test, gate_plan())["mask/scatter"]
    assert (verdict.verdict, verdict.pairs) == (NOT_ENOUGH, 5)
    assert verdict.reason == (
        "open after 5 pairs: the 1 more that the next analysis needs do not fit the budget of 300 s; "
        "raise --budget, or name fewer with --cases"
    )


def test_the_same_program_is_unchanged_whatever_the_clock_says():
    one = pair_of(program="sha256:a")
    found = compose([one], ledger_of(*SLOW, advisory=True), gate_plan())["mask/scatter"]
    assert (found.verdict, found.reason) == (UNCHANGED, module.SAME)
    clock = "by the clock alone it is regressed (more than 2.5 % slower on 4 pairs)"
    assert found.notes == (f"advisory: {clock}",)


def test_a_self_check_takes_the_clock_at_its_word():
    one = pair_of(program="sha256:a")
    found = compose([one], ledger_of(*SLOW, *SLOW), gate_plan(self_check=True))["mask/scatter"]
    assert found.verdict == REGRESSED


@pytest.mark.parametrize(
    ("figure", "verdict"), [("time", UNCHANGED), (None, UNCHANGED), ("flops", REGRESSED)]
)
def test_an_accepted_time_is_unchanged_and_says_why(figure, verdict):
    accepts = (Accept("bench.yaml:3", "mask/scatter@*", figure, "rows are whole now"),)
    found = compose([pair_of()], ledger_of(*SLOW, *SLOW), gate_plan(accepts=accepts))["mask/scatter"]
    said = REASONS[0][2]
    told = (module.MEANT, (f"accepted: {said}: rows are whole now",)) if verdict == UNCHANGED else (said, ())
    assert (found.verdict, found.reason, found.notes) == (verdict, *told)


def test_equal_code_is_unchanged_without_a_clock():
    plan = gate_plan("scatter")
    plan = replace(plan, opponents={}, same_code=dict(plan.opponents))
    verdict = compose([], SequentialTest({}), plan)["mask/scatter"]
    assert (verdict.verdict, verdict.same_code, verdict.pairs) == (UNCHANGED, True, 0)
    assert not plan.groups()


def test_what_was_not_timed_has_its_own_word():
    wrong, left = pair_of("scatter"), pair_of("threshold")
    wrong.settle(INCORRECT, "3 elements differ")
    left.settle(LEFT_OUT, "needs AMX")
    added = {case("plain").id: "mask/plain is not registered in the base"}
    asked = gate_plan("scatter", "threshold", "plain", new=added, vanished=("mask/gone@seq=1:fwd:cpu",))
    found = compose([wrong, left], SequentialTest({}), asked)
    assert {name: (one.verdict, one.reason.split(",")[0]) for name, one in found.items()} == {
        "mask/scatter": (INCORRECT, "3 elements differ"),
        "mask/plain": (NEW, "mask/plain is not registered in the base"),
        "mask/gone": (VANISHED, "the base has it"),
    }


def test_a_long_tail_is_told_and_decides_nothing():
    rounds = [
        Rounds(pair, case().id, (0.0, 0.002), (1e-3, 1e-3), tail)
        for pair, tail in enumerate((0.1, math.log(1.5), None, 3.0, None, None))
    ]
    found = compose([pair_of()], ledger_of(*SAME), gate_plan(), rounds)["mask/scatter"]
    told = "advisory: the slowest tenth of its calls takes 50 % longer"
    assert (found.verdict, found.notes) == (UNCHANGED, (told,))


@pytest.mark.parametrize(
    ("candidate", "base", "notes"),
    [
        (
            (("flash", 1), ("cast", 2)),
            (("math", 3), ("cast", 2)),
            ("the sides ran different kernels: the candidate flash 1×; the base math 3×",),
        ),
        (
            (("cast", 1),),
            (("cast", 1), ("copy", 1)),
            ("the sides ran different kernels: the candidate nothing else; the base copy 1×",),
        ),
        ((("a", 1), ("b", 1)), (("b", 1), ("a", 1)), ()),
        ((), (("math", 3),), ()),
    ],
)
def test_sides_that_ran_different_kernels_are_told_apart(candidate, base, notes):
    paired = pair_of()
    for side, counts in ((CANDIDATE, candidate), (BASE, base)):
        paired.sides[side].kernels = KernelsRun(counts)
    assert compose([paired], ledger_of(*SAME), gate_plan())["mask/scatter"].notes == notes


OUTCOME = GateOutcome(TIME, "HEAD", (CaseVerdict("a", REGRESSED, "slower", effect=0.5),))
GATE = StoredGate(
    ("gate",), "2026-11-20T11:30:00+00:00", {"a": "sha256:b"}, OUTCOME,
    {"a": CaseEvidence(0.05, first=(0.5,), levels_s=((0.3, 0.2),))},
)  # fmt: skip


def test_the_newest_that_was_written_is_read_again(tmp_path):
    for second in (1, 3, 2):
        gate = replace(GATE, outcome=replace(OUTCOME, base=f"HEAD~{second}"))
        store_gate(new_folder(tmp_path, f"20261120T11300{second}Z-x"), gate)
    new_folder(tmp_path, "20261120T113004Z-x")  # of a gate that was killed
    assert newest_gate(tmp_path) == replace(GATE, outcome=replace(OUTCOME, base="HEAD~3"))


def test_without_any_gate_the_remedy_is_one(tmp_path):
    with pytest.raises(UsageError, match=r"no gate is kept in .*gates; run one with: seqsweep gate"):
        newest_gate(tmp_path)


def written(changes):
    data = {**json.loads(json.dumps({"command": [], "started": "", "sources": {}, "evidence": {}}))}
    return json.dumps({**data, "outcome": OUTCOME.to_json(), **changes}).encode()


@pytest.mark.parametrize(
    "damaged",
    [
        *(b"", b'{"request": "sha', b"[]", b"\xff"),
        *map(
            written,
            (
                {"command": 3},
                {"outcome": None},
                {"outcome": {"verdict": "unchanged"}},
                {"evidence": {"a": {}}},
                {"sources": []},
            ),
        ),
    ],
)
def test_a_damaged_gate_is_a_sentence(tmp_path, damaged):
    folder = new_folder(tmp_path, "one")
    (folder / HEADER).write_bytes(damaged)
    with pytest.raises(UsageError, match=r"gate\.json: .*; remove its folder") as caught:
        newest_gate(tmp_path)
    assert str(folder) in str(caught.value)


def test_a_gate_is_never_written_over_and_results_that_cannot_be_written_are_told_at_once(tmp_path):
    new_folder(tmp_path, "one")
    with pytest.raises(MachineError, match="File exists"):
        new_folder(tmp_path, "one")
    (tmp_path / "results").write_text("a file, not a folder")
    with pytest.raises(MachineError, match="--results"):
        new_folder(tmp_path / "results", "one")
