"""Timed gates: interim analyses, and the verdict and reason of each case."""

import json
import math
from dataclasses import replace

import pytest

from harness.core.errors import MachineError, UsageError
from harness.gate.options import GateOptions
from harness.gate.outcome import INCORRECT, REGRESSED, TIME, CaseVerdict, GateOutcome
from harness.gate.plan import GatePlan
from harness.gate.sides.side import Side
from harness.gate.timed import run as module
from harness.gate.timed.decision import CaseEvidence, Margin, PairResult
from harness.gate.timed.paired_case import BASE, CANDIDATE, LEFT_OUT
from harness.gate.timed.run import HEADER, StoredGate, TimedResult, looks, new_folder, newest_gate, store_gate
from harness.gate.timed.sequential_test import SequentialTest
from harness.sweep.settings import Accept
from tests.gate.timed.fakes import pair_of
from tests.goldens import assert_golden, scenes
from tests.run.plans import case, catalog, schedule

ASKING = GateOptions(against=None, max_pairs=12, budget_s=300.0, inconclusive="fail")
SLOW, SAME, FAST = [0.1, 0.101, 0.099, 0.1], [0.001, -0.001, 0.0, 0.002], [-0.1, -0.101, -0.099, -0.1]
WIDE = [0.3, -0.3, 0.3, -0.3]


EVEN = (4, 6, 8, 10, 12)


def test_interim_analyses_are_at_four_pairs_every_second_and_the_last():
    assert [looks(most) for most in (4, 5, 6, 12, 13)] == [(4,), (4, 5), (4, 6), EVEN, (*EVEN, 13)]


def ledger_of(*effects, advisory=False, steps=EVEN):
    name = case().id
    sequential_test = SequentialTest({name: Margin(looks=steps)}, advisory=[name] if advisory else ())
    for effect in effects:
        sequential_test.feed(name, effect)
    return sequential_test


def gate_plan(*names, **more):
    sides = {name: Side(name, name, catalog()) for name in (CANDIDATE, BASE)}
    counterparts = {case(name): case(name) for name in names or ("scatter",)}
    plan = schedule(names or ("scatter",), (1024,))
    return GatePlan(plan, sides, counterparts, deltas={"mask": 0.05}, **more)


def timed(*effects, program=None, rounds=(), kernels=((), ()), plan=None, **ledger):
    """The verdict on one case with these effects of its pairs."""
    paired = pair_of(program=program)
    for side, counts in zip((CANDIDATE, BASE), kernels, strict=True):
        paired.sides[side].kernels_run = counts
    result = TimedResult((paired,), ledger_of(*effects, **ledger), {case().id: rounds})
    return module.verdicts(plan or gate_plan(), result, ASKING)


def accepting(figure):
    return gate_plan(accepts=(Accept("bench.yaml:3", "mask/scatter@*", figure, "rows are whole now"),))


def untimed():
    """Verdicts on a wrong, a left-out, a new and a vanished case."""
    wrong, left = pair_of("scatter"), pair_of("threshold")
    wrong.settle(INCORRECT, "3 elements differ")
    left.settle(LEFT_OUT, "needs AMX")
    added = {case("plain").id: "mask/plain is not registered in the base"}
    asked = gate_plan("scatter", "threshold", "plain", new=added, vanished=("mask/gone@seq=1:fwd:cpu",))
    return module.verdicts(asked, TimedResult((wrong, left), SequentialTest({})), ASKING)


def equal():
    plan = gate_plan("scatter")
    plan = replace(plan, counterparts={}, same_code=dict(plan.counterparts))
    assert not plan.groups()
    return module.verdicts(plan, TimedResult(), ASKING)


TAILS = [
    PairResult(pair, case().id, (0.0, 0.002), (1e-3, 1e-3), tail)
    for pair, tail in enumerate((0.1, math.log(1.5), None, 3.0, None, None))
]
KERNELS = {
    "other kernels": ((("flash", 1), ("cast", 2)), (("math", 3), ("cast", 2))),
    "a kernel more": ((("cast", 1),), (("cast", 1), ("copy", 1))),
    "the same kernels in another order": ((("a", 1), ("b", 1)), (("b", 1), ("a", 1))),
    "no kernels": ((), (("math", 3),)),
}
VERDICTS = {
    "slower": lambda: timed(*SLOW, *SLOW),
    "slower, without fresh pairs": lambda: timed(*SLOW, advisory=True),
    "faster": lambda: timed(*FAST),
    "the same": lambda: timed(*SAME),
    "not confirmed": lambda: timed(*SLOW, *SAME),
    "wide": lambda: timed(*WIDE, steps=(4,)),
    "more than twice as slow": lambda: timed(1.0, 0.9),
    "a budget that ends between looks": lambda: timed(*SLOW, 0.1, steps=(6,)),
    "the same program": lambda: timed(*SLOW, advisory=True, program="sha256:a"),
    "the same program in a self-check": lambda: timed(
        *SLOW, *SLOW, program="sha256:a", plan=gate_plan(self_check=True)
    ),
    "its time is accepted": lambda: timed(*SLOW, *SLOW, plan=accepting("time")),
    "all of it is accepted": lambda: timed(*SLOW, *SLOW, plan=accepting(None)),
    "its FLOPs are accepted": lambda: timed(*SLOW, *SLOW, plan=accepting("flops")),
    "a long tail": lambda: timed(*SAME, rounds=TAILS),
    **{name: lambda counts=counts: timed(*SAME, kernels=counts) for name, counts in KERNELS.items()},
    "not timed": untimed,
    "equal code": equal,
}


def test_verdicts_and_their_reasons():
    said = {}
    for name, make in VERDICTS.items():
        lines = []
        for one in make():
            effect = "" if one.effect is None else f" {one.effect:.3f}"
            bounds = "" if one.low is None else f" in [{one.low:.3f}, {one.high:.3f}]"
            measured = f"{effect}{bounds} of {one.pairs} pairs" if one.pairs else ""
            lines.append(f"{one.case.split('@')[0]}{measured}: {one.verdict}: {one.reason}")
            lines += [f"! {note}" for note in one.notes]
        said[name] = "\n".join(lines)
    assert_golden("gate_timed_verdicts.txt", scenes(said))
    (one,) = timed(*SLOW, *SLOW)
    assert (one.file, one.line) == ("scatter.py", 1)


OUTCOME = GateOutcome(TIME, "HEAD", (CaseVerdict("a", REGRESSED, "slower", effect=0.5),))
GATE = StoredGate(
    ("gate",), "2026-11-20T11:30:00+00:00", {"a": "sha256:b"}, OUTCOME,
    {"a": CaseEvidence(0.05, first=(0.5,), levels_s=((0.3, 0.2),))},
)  # fmt: skip


def test_the_newest_stored_gate_is_read(tmp_path):
    for second in (1, 3, 2):
        gate = replace(GATE, outcome=replace(OUTCOME, base=f"HEAD~{second}"))
        store_gate(new_folder(tmp_path, f"20261120T11300{second}Z-x"), gate)
    new_folder(tmp_path, "20261120T113004Z-x")  # by a gate that was killed
    assert newest_gate(tmp_path) == replace(GATE, outcome=replace(OUTCOME, base="HEAD~3"))


def test_without_a_stored_gate_the_error_names_the_command(tmp_path):
    with pytest.raises(UsageError, match=r"no gate is stored in .*gates; run one with: seqsweep gate"):
        newest_gate(tmp_path)


@pytest.mark.parametrize(
    "changes",
    [None, {"command": 3}, {"outcome": None}, {"outcome": {"verdict": "unchanged"}}, {"evidence": {"a": {}}}],
)
def test_a_damaged_gate_is_an_error(tmp_path, changes):
    folder = new_folder(tmp_path, "one")
    store_gate(folder, GATE)
    data = json.loads((folder / HEADER).read_text())
    (folder / HEADER).write_text("[]" if changes is None else json.dumps({**data, **changes}))
    with pytest.raises(UsageError, match=r"gate\.json: .*; remove its folder") as caught:
        newest_gate(tmp_path)
    assert str(folder) in str(caught.value)


def test_a_gate_is_never_overwritten_and_an_unwritable_folder_is_reported_first(tmp_path):
    new_folder(tmp_path, "one")
    with pytest.raises(MachineError, match="File exists"):
        new_folder(tmp_path, "one")
    (tmp_path / "results").write_text("a file, not a folder")
    with pytest.raises(MachineError, match="--results"):
        new_folder(tmp_path / "results", "one")
