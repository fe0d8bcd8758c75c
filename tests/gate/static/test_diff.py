"""Static comparison of two sides of a case: figures, status, contract and kernels."""

from dataclasses import replace

import pytest

from harness.core.static_figures import Static
from harness.gate.static.diff import StaticSide, compare
from harness.gate.static.run import missing_compilers
from tests.goldens import assert_golden, scenes
from tests.records import FAILED, PASSED, kernel_of, static_of, tpu_kernel_of

MIB = 2**20
FIGURES = {"flops": 65536, "bytes_accessed": 3 * MIB, "temp_bytes": 4 * MIB, "argument_bytes": 2 * MIB}
FIGURES |= {"output_bytes": MIB, "generated_code_bytes": 0}
BASE = StaticSide(static_of(**FIGURES, program="sha256:1"), correctness=PASSED)


def with_changes(side=BASE, program="sha256:2", **figures):
    """`side` with another program and these static figures."""
    unavailable = {**side.static.unavailable, **figures.pop("unavailable", {})}
    return replace(side, static=replace(side.static, program=program, unavailable=unavailable, **figures))


def accept(*figures):
    """These figures, or all of them without any, may change."""
    return lambda figure: "it is meant" if figure in figures or not figures else None


def never(_):
    return None


def recall(value, contract="recall"):
    judged = replace(PASSED, contract=contract, figures={"recall": value, "target": 0.95})
    return replace(BASE, correctness=judged)


def kernels(*several, target="cuda:h100", program="sha256:2"):
    return StaticSide(static_of(program=program), {target: several}, PASSED)


def of_tpu(**change):
    return kernels(replace(PALLAS, **change), target="tpu:v5p")


def by_path(**paths):
    return kernels(replace(KERNEL, instructions={**paths, "global": 8}))


WRONG = replace(BASE, status="incorrect", reason="9 elements differ", correctness=FAILED)
EXPECTED = replace(WRONG, expected=True)
UNMEASURED = ("oom", "timeout", "crashed", "unsupported", "skipped")
STATES = {"ok": BASE, "incorrect": WRONG, "expected": EXPECTED}
STATES |= {status: StaticSide(Static.none("-"), status=status, reason="it says why") for status in UNMEASURED}
LOST = with_changes(flops=None, flops_source=None, unavailable={"flops": "no compiler"})
OPAQUE = with_changes(custom_calls=("TopK",), flops=None, unavailable={"flops": "the custom call TopK …"})
HELD, TRADED = with_changes(temp_bytes=8 * MIB, flops=131072), with_changes(temp_bytes=8 * MIB, flops=32768)
KERNEL, PALLAS = kernel_of(), tpu_kernel_of()
SPILLS = {"spilled_bytes": 1080, "spilled_at": {"flash.py:19": 40, "flash.py:12": 3}}
SMALL = kernels(replace(KERNEL, grid=(64,), waves=0.16))
LARGER = {"temp_bytes": 8 * MIB, "flops": 65537, "bytes_accessed": 6 * MIB}
LARGER |= {"argument_bytes": 3 * MIB, "output_bytes": 2 * MIB, "generated_code_bytes": 7}
MORE = {
    **{f"more {name}": (BASE, with_changes(**{name: value})) for name, value in LARGER.items()},
    "more spills": (kernels(KERNEL), kernels(replace(KERNEL, **SPILLS))),
    "more registers": (kernels(KERNEL), kernels(replace(KERNEL, registers=169))),
    "more shared memory": (kernels(KERNEL), kernels(replace(KERNEL, shared_bytes=65537))),
    "more VMEM": (of_tpu(), of_tpu(vmem_bytes=5 << 20)),
    "more registers of the second of one name": (
        kernels(KERNEL, replace(KERNEL, registers=40)),
        kernels(KERNEL, replace(KERNEL, registers=41)),
    ),
}
PAIRS = {
    **{name: (*sides, never) for name, sides in MORE.items()},
    "the same": (BASE, BASE, never),
    "another program": (BASE, with_changes(), never),
    "no program": (with_changes(program=None), with_changes(program=None), never),
    "no figures": (*[StaticSide(static_of(), correctness=PASSED)] * 2, never),
    "the same program, which holds more": (BASE, with_changes(temp_bytes=8 * MIB, program="sha256:1"), never),
    "a figure that is gone": (BASE, LOST, never),
    "a figure that is back": (LOST, BASE, never),
    "a figure that neither has": (LOST, with_changes(LOST, program="sha256:3"), never),
    "a figure of another source": (BASE, with_changes(flops=10**9, flops_source="matmul_only"), never),
    "a custom call that joins": (BASE, OPAQUE, never),
    "a custom call where nothing can be accepted": (BASE, OPAQUE, None),
    "a custom call that is accepted": (BASE, OPAQUE, accept("custom_calls")),
    "a custom call that leaves": (OPAQUE, BASE, never),
    "a custom call that stays": (OPAQUE, with_changes(OPAQUE, program="sha256:3"), never),
    "two figures": (BASE, HELD, never),
    "two figures, one accepted": (BASE, HELD, accept("temp_bytes")),
    "two figures, both accepted": (BASE, HELD, accept()),
    "one more, one less": (BASE, TRADED, never),
    "one more and accepted, one less": (BASE, TRADED, accept("temp_bytes")),
    "recall nearly whole": (recall(0.971), recall(0.99999), never),
    "recall whole before": (recall(1.0), recall(1.0), never),
    "recall that falls": (recall(1.0), recall(0.971), never),
    "no recall before": (recall(None), recall(1.0), never),
    "recall that becomes whole": (recall(0.971), recall(1), never),
    "recall that was nearly whole": (recall(0.99999), recall(1.0), never),
    "recall that becomes whole and is accepted": (recall(0.971), recall(1.0), accept("contract")),
    "another contract": (recall(0.971), recall(1.0, "exact"), never),
    "a contract not judged": (BASE, replace(BASE, correctness=None), never),
    "oom of ok": (BASE, STATES["oom"], never),
    "ok of oom": (STATES["oom"], BASE, never),
    "no base": (None, BASE, never),
    "ok of incorrect": (WRONG, BASE, never),
    "ok of a contract that failed": (replace(BASE, correctness=FAILED), BASE, never),
    "crashed of timeout": (STATES["timeout"], STATES["crashed"], never),
    "incorrect of ok": (BASE, WRONG, never),
    "a contract that fails": (BASE, replace(BASE, correctness=FAILED), never),
    "an expected failure that passes": (EXPECTED, replace(BASE, expected=True), accept()),
    "compiled once in timed code": (None, replace(BASE, compiles=1), accept()),
    "compiled in timed code": (BASE, replace(BASE, compiles=3), never),
    "compiled in timed code before": (replace(BASE, compiles=3), BASE, never),
    "incorrect, and compiled in timed code": (BASE, replace(WRONG, compiles=1), never),
    "a kernel that cannot be launched": (kernels(KERNEL), kernels(replace(KERNEL, refused="large")), never),
    "a Pallas kernel that cannot": (of_tpu(), of_tpu(refused="large"), never),
    "a kernel that never could": (*[kernels(replace(KERNEL, refused="large"))] * 2, never),
    "kernels that are gone": (kernels(KERNEL), replace(BASE, kernels={}), never),
    "a kernel that is new": (kernels(KERNEL), kernels(KERNEL, replace(KERNEL, kernel="combine")), never),
    "VMEM that is not known": (of_tpu(), of_tpu(vmem_bytes=None), never),
    "HGMMA to HMMA": (by_path(wgmma=24), by_path(mma=96), never),
    "HGMMA to HMMA in part": (by_path(wgmma=24), by_path(wgmma=8, mma=64), never),
    "HMMA to none": (by_path(mma=96), by_path(), never),
    "HMMA to HGMMA": (by_path(mma=96), by_path(wgmma=24), never),
    "HMMA of a version that knew no paths": (by_path(matrix=24), by_path(mma=96), never),
    "fewer HGMMA": (by_path(wgmma=24), by_path(wgmma=12), never),
    "a product that was none": (
        *(kernels(replace(KERNEL, instructions=p, products=n)) for p, n in (({}, 0), ({"mma": 4}, 1))),
        never,
    ),
    "a grid that became small": (kernels(KERNEL), SMALL, never),
    "a grid that was small": (SMALL, SMALL, never),
}


def test_verdicts_and_notes_on_two_sides():
    said = {}
    for name, sides in PAIRS.items():
        verdict, reason, notes = compare(*sides)
        said[name] = "\n".join([f"{verdict}: {reason}", *(f"! {note}" for note in notes)])
    assert_golden("gate_diffs.txt", scenes(said))


@pytest.mark.parametrize("name", MORE)
def test_a_smaller_figure_improves_and_a_larger_one_may_be_accepted(name):
    base, now = MORE[name]
    assert compare(now, base, never).verdict == "improved"
    accepted = compare(base, now, accept(name.split()[1] if base is BASE else "kernels"))
    assert (accepted.verdict, len(accepted.notes)) == ("unchanged", 1)


FROM_OK = {
    "ok": "unchanged", "incorrect": "incorrect", "expected": "vanished", "oom": "regressed",
    "timeout": "invalid", "crashed": "invalid", "unsupported": "vanished", "skipped": "vanished",
}  # fmt: skip


@pytest.mark.parametrize("now", STATES)
@pytest.mark.parametrize("then", [*STATES, None])
def test_every_pair_of_statuses(then, now):
    found = compare(STATES[then] if then else None, STATES[now], accept())
    if then == "ok" or now == "incorrect" or (now in {"crashed", "timeout"} and then != now):
        assert found.verdict == FROM_OK[now]
    elif now == "ok":
        assert found.verdict == ("improved" if then == "oom" else "new")
    else:
        assert found.verdict is None
    assert found.reason


def test_a_missing_compiler_is_a_note(monkeypatch):
    monkeypatch.setattr("harness.gate.static.run.missing_compiler", lambda kind: f"no compiler for {kind}")
    assert missing_compilers(["pallas", "numpy", "triton", "pallas", "jax"]) == [
        "kernels of pallas are not compared on cuda: no compiler for cuda",
        "kernels of pallas are not compared on tpu: no compiler for tpu",
    ]
