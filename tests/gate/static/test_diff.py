"""What two sides of a case differ in, by every figure, status and contract, and by its kernels."""

from dataclasses import replace

import pytest

from harness.core.static_figures import Static
from harness.gate.static.diff import StaticSide, compare
from harness.gate.static.run import missing_compilers
from tests.records import FAILED, PASSED, kernel_of, static_of, tpu_kernel_of

MIB = 2**20
FIGURES = {"flops": 65536, "bytes_accessed": 3 * MIB, "temp_bytes": 4 * MIB, "argument_bytes": 2 * MIB}
FIGURES |= {"output_bytes": MIB, "generated_code_bytes": 0}
BASE = StaticSide(static_of(**FIGURES, program="sha256:1"), correctness=PASSED)
MEANT = "if it is meant, accept {} in bench.yaml with the reason"
JOINED = (
    "custom call TopK joined: what the compiler cannot count, or an approximation that fell back to exact"
)
CALL_LEFT = "custom call TopK left: another program does its work; " + MEANT.format("custom_calls")
NO_FLOPS = "FLOPs cannot be compared any more"


def with_changes(side=BASE, program="sha256:2", **figures):
    """`side` with another program and these static figures."""
    unavailable = {**side.static.unavailable, **figures.pop("unavailable", {})}
    return replace(side, static=replace(side.static, program=program, unavailable=unavailable, **figures))


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


def test_equal_sides():
    nothing = StaticSide(static_of(), correctness=PASSED)
    for base, now, reason in (
        (BASE, BASE, "same program"),
        (BASE, with_changes(), "same figures"),
        (with_changes(program=None), with_changes(program=None), "same figures"),
        (nothing, nothing, "no figure stands on both sides; only the contract is compared"),
    ):
        assert compare(base, now, never) == ("unchanged", reason, ())
    held = with_changes(temp_bytes=8 * MIB, program="sha256:1")
    assert compare(BASE, held, never).verdict == "regressed", "an equal program that holds more"


def test_what_is_unavailable_is_never_zero():
    lost = with_changes(flops=None, flops_source=None, unavailable={"flops": "no compiler"})
    assert compare(BASE, lost, never) == ("unchanged", "same figures", (f"{NO_FLOPS}: no compiler",))
    assert compare(lost, BASE, never) == ("unchanged", "same figures", ())
    assert compare(lost, with_changes(lost, program="sha256:3"), never).notes == ()
    other = with_changes(flops=10**9, flops_source="matmul_only")
    note = "FLOPs are counted in two ways (compiled, matmul_only) and not compared"
    assert compare(BASE, other, never)[::2] == ("unchanged", (note,))


def test_a_custom_call_that_joins_or_leaves_is_a_regression():
    opaque = with_changes(custom_calls=("TopK",), flops=None, unavailable={"flops": "the custom call TopK …"})
    joined = f"{JOINED}; {MEANT.format('custom_calls')}"
    assert compare(BASE, opaque, never)[:2] == ("regressed", joined)
    assert compare(BASE, opaque, None)[:2] == ("regressed", JOINED), "where nothing can be accepted"
    assert compare(opaque, BASE, never)[:2] == ("regressed", CALL_LEFT)
    assert compare(opaque, with_changes(opaque, program="sha256:3"), never).verdict == "unchanged"
    found = compare(BASE, opaque, accept_only("custom_calls"))
    notes = (f"accepted: {JOINED}: it is meant", f"{NO_FLOPS}: the custom call TopK …")
    assert found == ("unchanged", "same figures", notes)


def test_a_figure_is_accepted_alone_or_with_all():
    candidate = with_changes(temp_bytes=8 * MIB, flops=131072)
    temp, flops = "temp 4.00 MiB -> 8.00 MiB (2.00×)", "FLOPs 6.55e4 -> 1.31e5 (2.00×)"
    assert compare(BASE, candidate, never)[:2] == ("regressed", f"{flops}; {temp}")
    found = compare(BASE, candidate, accept_only("temp_bytes"))
    assert found == ("regressed", flops, (f"accepted: {temp}: it is meant",))
    notes = (f"accepted: {flops}: it is meant", f"accepted: {temp}: it is meant")
    assert compare(BASE, candidate, always) == ("unchanged", "same figures", notes)
    traded = with_changes(temp_bytes=8 * MIB, flops=32768)
    better = "FLOPs 6.55e4 -> 3.28e4 (0.500×)"
    assert compare(BASE, traded, never) == ("regressed", temp, (better,))
    assert compare(BASE, traded, accept_only("temp_bytes"))[:2] == ("improved", better)


def recall(value, contract="recall"):
    judged = replace(PASSED, contract=contract, figures={"recall": value, "target": 0.95})
    return replace(BASE, correctness=judged)


@pytest.mark.parametrize(("old", "new"), [(0.971, 0.99999), (1.0, 1.0), (1.0, 0.971), (None, 1.0)])
def test_an_approximation_that_still_approximates_or_never_did(old, new):
    assert compare(recall(old), recall(new), never).verdict == "unchanged"


def test_an_approximation_that_became_exact_and_other_changes_of_a_contract():
    reason = f"approximates nothing any more: recall 0.971 -> 1; {MEANT.format('contract')}"
    for whole in (1.0, 1):
        assert compare(recall(0.971), recall(whole), never)[:2] == ("regressed", reason)
    assert "recall 0.99999 -> 1" in compare(recall(0.99999), recall(1.0), never).reason
    found = compare(recall(0.971), recall(1.0), accept_only("contract"))
    assert found[:2] == ("unchanged", "same program")
    assert found.notes == ("accepted: approximates nothing any more: recall 0.971 -> 1: it is meant",)
    other = compare(recall(0.971), recall(1.0, "exact"), never)
    assert other.notes == ("the contract was recall and is exact: another result",)
    unjudged = compare(BASE, replace(BASE, correctness=None), never)
    assert unjudged.notes == ("the candidate's contract was not judged",)


WRONG = replace(BASE, status="incorrect", reason="9 elements differ", correctness=FAILED)
EXPECTED = replace(WRONG, expected=True)
UNMEASURED = ("oom", "timeout", "crashed", "unsupported", "skipped")
STATES = {"ok": BASE, "incorrect": WRONG, "expected": EXPECTED}
STATES |= {status: StaticSide(Static.none("-"), status=status, reason="it says why") for status in UNMEASURED}
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
    for base, now, reason in (
        (BASE, STATES["oom"], "oom: it says why; the base was ok"),
        (STATES["oom"], BASE, "fits now; the base was oom (it says why)"),
        (None, BASE, "the base has no such case"),
        (WRONG, BASE, "the base was incorrect (9 elements differ)"),
        (STATES["timeout"], STATES["crashed"], "crashed: it says why; the base was timeout (it says why)"),
        (BASE, WRONG, "9 elements differ"),
        (BASE, replace(BASE, correctness=FAILED), "fails the contract exact"),
    ):
        assert compare(base, now, never).reason == reason
    assert compare(replace(BASE, correctness=FAILED), BASE, never).verdict == "new"


@pytest.mark.parametrize("base", [None, BASE, EXPECTED])
def test_an_expected_failure_that_passes_and_what_compiles_in_timed_code(base):
    found = compare(base, replace(BASE, expected=True), always)
    assert found.verdict == "incorrect"
    assert "take its expect= away" in found.reason
    found = compare(base, replace(BASE, compiles=1), always)
    assert found.verdict == "invalid"
    assert found.reason.startswith("compiles in timed code, once in calls after the first; keep shapes")
    assert "3 times" in compare(base, replace(BASE, compiles=3), never).reason
    assert compare(replace(BASE, compiles=3), BASE, never).verdict == "unchanged"
    assert compare(base, replace(WRONG, compiles=1), never).verdict == "incorrect"


KERNEL = kernel_of()
PALLAS = tpu_kernel_of()


def kernels(*several, target="cuda:h100", program="sha256:2"):
    return StaticSide(static_of(program=program), {target: several}, PASSED)


def of_tpu(**change):
    return kernels(replace(PALLAS, **change), target="tpu:v5p")


SPILLS = {"spilled_bytes": 1080, "spilled_at": {"flash.py:19": 40, "flash.py:12": 3}}


@pytest.mark.parametrize(
    ("now", "before", "reason"),
    [
        (
            kernels(replace(KERNEL, **SPILLS)),
            kernels(KERNEL),
            "cuda:h100: attn: bytes spilled a thread 0 -> 1080, most at flash.py:19",
        ),
        (
            kernels(replace(KERNEL, registers=169)),
            kernels(KERNEL),
            "cuda:h100: attn: registers a thread 168 -> 169",
        ),
        (
            kernels(replace(KERNEL, shared_bytes=65537)),
            kernels(KERNEL),
            "cuda:h100: attn: bytes of shared memory a block 65536 -> 65537",
        ),
        (
            of_tpu(vmem_bytes=5 << 20),
            of_tpu(),
            "tpu:v5p: scan: bytes of VMEM 4194304 -> 5242880",
        ),
        (
            kernels(KERNEL, replace(KERNEL, registers=41)),
            kernels(KERNEL, replace(KERNEL, registers=40)),
            "cuda:h100: attn: registers a thread 40 -> 41",
        ),
    ],
)
def test_one_more_is_a_regression_and_one_less_an_improvement(now, before, reason):
    assert compare(before, now, never)[:2] == ("regressed", reason)
    assert compare(now, before, never).verdict == "improved"
    found = compare(before, now, accept_only("kernels"))
    assert (found.verdict, found.notes) == ("unchanged", (f"accepted: {reason}: it is meant",))


@pytest.mark.parametrize("kernel", [KERNEL, PALLAS])
def test_what_fits_no_more_is_a_regression_of_its_own(kernel):
    refused = kernels(replace(kernel, refused="too large"))
    reason = f"cuda:h100: {kernel.kernel} cannot be launched any more: too large"
    assert compare(kernels(kernel), refused, never)[:2] == ("regressed", reason)
    assert compare(refused, refused, never).verdict == "unchanged"


def test_kernels_that_cannot_be_compared():
    (note,) = compare(kernels(KERNEL), replace(BASE, kernels={}), never).notes
    assert note.startswith("kernels on cuda:h100 cannot be compared any more")
    assert "seqsweep static --target cuda:h100" in note
    more = kernels(KERNEL, replace(KERNEL, kernel="combine"))
    assert compare(kernels(KERNEL), more, never).verdict == "unchanged"
    assert compare(of_tpu(), of_tpu(vmem_bytes=None), never).verdict == "unchanged"


def by_path(**paths):
    return kernels(replace(KERNEL, instructions={**paths, "global": 8}))


HGMMA_LOST = "uses no warp-group matrix instructions (HGMMA): at most about two thirds of the GPU's peak"
GENERAL = "computes matrix products on general units, without matrix instructions"


@pytest.mark.parametrize(
    ("then", "now", "sentence"),
    [
        ({"wgmma": 24}, {"mma": 96}, f"{HGMMA_LOST}: matrix instructions wgmma 24 -> 0, mma 0 -> 96"),
        (
            {"wgmma": 24},
            {"wgmma": 8, "mma": 64},
            "moves products to a slower path: matrix instructions wgmma 24 -> 8, mma 0 -> 64",
        ),
        ({"mma": 96}, {}, f"{GENERAL}: matrix instructions mma 96 -> 0"),
    ],
)
def test_a_faster_path_of_products_that_is_lost_is_a_regression(then, now, sentence):
    before, after = by_path(**then), by_path(**now)
    assert compare(before, after, never)[:2] == ("regressed", f"cuda:h100: attn {sentence}")
    old = by_path(matrix=24)  # of an earlier version, which knew no paths
    for base, candidate in ((after, before), (after, after), (old, after)):
        assert compare(base, candidate, never).verdict == "unchanged"


def test_fewer_and_larger_instructions_of_one_path_are_no_loss():
    assert compare(by_path(wgmma=24), by_path(wgmma=12), never).verdict == "unchanged"
    none, added = (
        kernels(replace(KERNEL, instructions=paths, products=count))
        for paths, count in (({}, 0), ({"mma": 4}, 1))
    )
    assert compare(none, added, never).verdict == "unchanged"


def test_a_grid_that_leaves_multiprocessors_idle_is_a_note():
    small = kernels(replace(KERNEL, grid=(64,), waves=0.16))
    (note,) = compare(kernels(KERNEL), small, never).notes
    assert note.startswith("cuda:h100: attn gives a block to 64 of 132 multiprocessors (48 %, 0.16 waves)")
    assert compare(small, small, never).notes == ()


def test_a_missing_compiler_is_a_note(monkeypatch):
    monkeypatch.setattr("harness.gate.static.run.missing_compiler", lambda kind: f"no compiler for {kind}")
    assert missing_compilers(["pallas", "numpy", "triton", "pallas", "jax"]) == [
        "kernels of pallas are not compared on cuda: no compiler for cuda",
        "kernels of pallas are not compared on tpu: no compiler for tpu",
    ]
