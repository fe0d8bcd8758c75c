from dataclasses import replace

import pytest

from harness.gate.static.baseline import Baseline, ProcessorKey
from harness.gate.static.baseline_diff import compare_with_file, file_entry
from harness.gate.static.diff import StaticFigures
from harness.gate.static.exact_kernel import ExactKernel

MIB = 2**20
CASE = "mask/scatter@batch=1,seq=4096:fwd:cpu"
UPDATE = "update the file: seqsweep gate --static --update"
ELSEWHERE = (
    "the file was written on another processor (EPYC): "
    "of jax, arguments, outputs and the contract are compared"
)
FIGURES = {"flops": 65536.0, "bytes_accessed": 3 * MIB, "temp_bytes": 4 * MIB, "argument_bytes": 2 * MIB}
NOW = StaticFigures(
    {**FIGURES, "output_bytes": MIB, "generated_code_bytes": None},
    unavailable={"generated_code_bytes": "not given"},
    program="sha256:1",
    flops_source="compiled",
    contract="exact",
    passed=True,
    framework="jax",
)


def with_changes(side=NOW, **more):
    figures = {name: more.pop(name) for name in NOW.figures if name in more}
    return replace(side, figures={**side.figures, **figures}, **more)


VERSIONS = {"torch": "2.13.0", "jaxlib": "0.10.2", "triton": "3.9.0", "libtpu": "0.0.52"}
HERE = Baseline("host", VERSIONS, ProcessorKey.of("EPYC", ["avx2"]), 1)
ANOTHER_PROCESSOR = replace(HERE, processor=ProcessorKey.of("Xeon", ["avx512f"]))


def without(compiler):
    return replace(HERE, versions={name: known for name, known in VERSIONS.items() if name != compiler})


def verdict_on(candidate, in_file=NOW, accept=lambda case, figure: None, here=HERE):
    baseline = replace(HERE, cases={CASE: file_entry(in_file), "old": file_entry(NOW)})
    found = compare_with_file(baseline, here, {CASE: candidate}, accept)
    assert list(found) == [CASE]
    return found[CASE]


def test_what_a_file_keeps():
    judged = replace(NOW, contract_figures={"mismatches": 0}, compiles=0)
    assert file_entry(judged) == replace(NOW, unavailable={})


def test_the_file_and_the_same():
    assert verdict_on(NOW) == ("unchanged", "same program", ())


def test_a_worse_case_is_a_regression():
    found = verdict_on(with_changes(temp_bytes=8 * MIB, program="sha256:2"))
    assert found == ("regressed", "against the file: temp 4.00 MiB -> 8.00 MiB (2.00×)", ())


def test_a_better_case_asks_for_an_update():
    found = verdict_on(with_changes(temp_bytes=2 * MIB, program="sha256:2"))
    assert found == ("improved", "against the file: temp 4.00 MiB -> 2.00 MiB (0.500×)", (UPDATE,))


def test_another_program_or_an_accepted_change_asks_for_an_update():
    same = "another program with the same figures"
    assert verdict_on(with_changes(program="sha256:2")) == ("unchanged", same, (UPDATE,))
    found = verdict_on(with_changes(temp_bytes=8 * MIB), accept=lambda case, figure: f"{case[:4]} {figure}")
    assert found.verdict == "unchanged"
    assert found.notes == ("accepted: temp 4.00 MiB -> 8.00 MiB (2.00×): mask temp_bytes", UPDATE)
    lost = verdict_on(with_changes(flops=None, flops_source=None))
    assert lost.notes == ("FLOPs cannot be compared any more: not given", UPDATE)


def test_a_case_that_the_file_lacks():
    baseline = Baseline("host", {}, ProcessorKey.of("EPYC", []), 1)
    found = compare_with_file(baseline, ANOTHER_PROCESSOR, {CASE: NOW}, lambda case, figure: None)
    assert found == {CASE: ("new", "the file has no such case", (UPDATE,))}


def test_a_case_that_no_longer_runs():
    ended = replace(NOW, status="unsupported", reason="no longer takes it", passed=None)
    assert verdict_on(ended)[:2] == ("vanished", "unsupported: no longer takes it; the base was ok")
    assert verdict_on(replace(NOW, passed=False)).verdict == "incorrect"


def test_on_another_processor_xla_plans_otherwise():
    other = with_changes(temp_bytes=8 * MIB, flops=1, program="sha256:2", custom_calls=("Sort",))
    assert verdict_on(other, here=ANOTHER_PROCESSOR) == ("unchanged", "same figures", (ELSEWHERE,))
    more = verdict_on(with_changes(other, argument_bytes=3 * MIB), here=ANOTHER_PROCESSOR)
    assert more == ("regressed", "against the file: arguments 2.00 MiB -> 3.00 MiB (1.50×)", (ELSEWHERE,))
    assert verdict_on(replace(other, passed=False), here=ANOTHER_PROCESSOR).verdict == "incorrect"


def test_of_a_trace_of_torch_temporaries_alone_depend_on_the_processor():
    torch = replace(NOW, framework="torch", flops_source="matmul_only")
    found = verdict_on(with_changes(torch, temp_bytes=8 * MIB), in_file=torch, here=ANOTHER_PROCESSOR)
    note = ELSEWHERE.replace(
        "of jax, arguments, outputs and the contract are", "of torch, all but temporaries is"
    )
    assert (found.verdict, found.notes) == ("unchanged", (note,))
    more = verdict_on(with_changes(torch, flops=2 * 65536.0), in_file=torch, here=ANOTHER_PROCESSOR)
    assert more.verdict == "regressed"
    found = verdict_on(with_changes(torch, temp_bytes=8 * MIB), in_file=torch)
    assert found == ("regressed", "against the file: temp 4.00 MiB -> 8.00 MiB (2.00×)", ())


def with_kernels(**figures):
    kernel = ExactKernel("attn", {"registers": 168, "spilled_bytes": 0, **figures}, {"flash.py:19": 40})
    return replace(NOW, framework="triton", program=None, kernels={"cuda:h100": (kernel,)})


def test_kernels_are_held_to_the_file_on_every_processor():
    assert verdict_on(with_kernels(), in_file=with_kernels()).verdict == "unchanged"
    assert not file_entry(with_kernels()).kernels["cuda:h100"][0].spilled_at, "lines move"
    found = verdict_on(with_kernels(spilled_bytes=1080), in_file=with_kernels(), here=ANOTHER_PROCESSOR)
    assert found[0] == "regressed"
    assert found[1].endswith("cuda:h100: attn: bytes spilled a thread 0 -> 1080, most at flash.py:19")


@pytest.mark.parametrize(
    ("framework", "target", "compiler", "version"),
    [("triton", "cuda:h100", "triton", "3.9.0"), ("pallas", "tpu:v5p", "libtpu", "0.0.52")],
)
def test_kernels_by_another_version_of_the_compiler_are_not_compared(framework, target, compiler, version):
    base, now = (
        replace(NOW, framework=framework, kernels={target: (ExactKernel("scan", {"vmem_bytes": size}),)})
        for size in (MIB, 2 * MIB)
    )
    assert verdict_on(now, in_file=base)[:2] == (
        "regressed",
        f"against the file: {target}: scan: bytes of VMEM 1048576 -> 2097152",
    )
    for here in (without(compiler), replace(HERE, versions={**VERSIONS, compiler: "9"})):
        found = verdict_on(now, in_file=base, here=here)
        assert found.verdict == "unchanged"
        assert found.notes[-1] == f"the file's kernels are by {compiler} {version}: they are not compared"


def test_without_triton_its_cases_are_left_out_and_say_why():
    reason = "Triton is not installed; pip install -e '.[triton]'"
    here = replace(with_kernels(), status="unsupported", reason=reason, passed=None, kernels={})
    found = verdict_on(here, in_file=with_kernels(), here=without("triton"))
    assert found == (None, f"not compared with the file: {reason}", ())
    assert verdict_on(here, in_file=with_kernels()).verdict == "vanished"
