import json
import os
from dataclasses import replace

import pytest

from harness.core.errors import UsageError
from harness.gate.static.baseline import Baseline, ProcessorKey, diff, merge, path_of, read, write
from harness.gate.static.diff import StaticFigures
from harness.gate.static.exact_kernel import ExactKernel
from harness.store import atomic

MIB = 2**20
HERE = ProcessorKey.of("EPYC", ["avx2", "avx512f"])
SCATTER, TOPK = "mask/scatter@seq=4096:fwd:cpu", 'topk/two_stage[buckets=64,keep=2]@kind="a",seq=4096:fwd:cpu'

FLASH, SCAN = "attention/triton_flash@seq=4096:fwd:cpu", "offsets/pallas_scan@seq=4096:fwd:cpu"


def planned_case(**changed):
    figures = {"flops": 65536.0, "bytes_accessed": 1.5e20, "temp_bytes": 4 * MIB, "argument_bytes": 8}
    figures |= {"output_bytes": 0, "generated_code_bytes": None, **changed.pop("figures", {})}
    values = {"framework": "jax", "flops_source": "compiled", "program": "sha256:1", **changed}
    return StaticFigures(**values, figures=figures)


def baseline(cases=None, **changed):
    known = {TOPK: planned_case(custom_calls=("TopK",)), SCATTER: planned_case(contract="exact", passed=True)}
    versions = {"torch": "2.13.0", "jaxlib": "0.10.2"}
    values = {"target": "host", "versions": versions, "processor": HERE, "threads": 1}
    return Baseline(**{**values, **changed}, cases=known | (cases or {}))


def test_a_file_is_named_after_target_and_versions(tmp_path):
    versions = {"triton": "3.9.0", "jaxlib": "0.10.2", "torch": "2.13.0+cpu"}
    name = "baselines/host-torch2.13.0+cpu-jaxlib0.10.2.json"
    assert path_of(tmp_path, "host", versions) == tmp_path / name
    assert (
        path_of(tmp_path, "v5p:2x2x1", {"jaxlib": None, "torch": "2.13.0"}).name
        == "v5p-2x2x1-torch2.13.0.json"
    )


def test_the_round_trip(tmp_path):
    path = tmp_path / "baselines" / "host.json"
    assert read(path) is None
    write(path, baseline())
    assert read(path) == baseline()


def test_a_case_is_a_line_and_a_change_of_it_a_change_of_that_line(tmp_path):
    path = tmp_path / "host.json"
    write(path, baseline())
    before = path.read_text().splitlines()
    assert json.loads(path.read_text())["threads"] == 1
    starts = [line.split("@")[0] for line in before if "@" in line]
    assert starts == ['"mask/scatter', '"topk/two_stage[buckets=64,keep=2]']
    assert '"flops": 65536, ' in before[-3]
    write(path, baseline({TOPK: planned_case(figures={"temp_bytes": 8 * MIB})}))
    after = path.read_text().splitlines()
    changed = [number for number, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]]
    assert changed == [len(before) - 3]


def test_a_file_without_an_end_or_with_no_floor_is_a_sentence(tmp_path):
    path = tmp_path / "host.json"
    os.mkfifo(path)
    with pytest.raises(UsageError, match=r"host\.json: cannot be read .*it is no regular file"):
        read(path)
    path.unlink()
    path.write_text("[" * 100_000)
    with pytest.raises(UsageError, match=r"host\.json:1: not a file of exact figures"):
        read(path)


def test_a_file_without_cases(tmp_path):
    empty = replace(baseline(), cases={})
    write(tmp_path / "host.json", empty)
    assert read(tmp_path / "host.json") == empty


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "host.json"
    write(path, baseline())

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic.os, "fsync", full)
    with pytest.raises(atomic.MachineError, match="No space left"):
        write(path, replace(baseline(), threads=2))
    monkeypatch.undo()
    assert read(path) == baseline()


def triton_baseline(version="3.9.0", **figures):
    """The file with a case of Triton's, whose kernel spills nothing unless `figures` say otherwise."""
    kernels = {"cuda:h100": (ExactKernel("attn (BM=64)", {"registers": 168, "spilled_bytes": 0, **figures}),)}
    cases = {FLASH: planned_case(framework="triton", program=None, kernels=kernels)}
    return baseline(cases, versions={**baseline().versions, "triton": version})


def test_kernels_are_kept_in_their_case_s_line_and_in_no_other(tmp_path):
    path = tmp_path / "host.json"
    write(path, triton_baseline())
    assert read(path) == triton_baseline()
    with_kernels = [line for line in path.read_text().splitlines() if '"kernels"' in line]
    assert [line.split("@")[0] for line in with_kernels] == ['"attention/triton_flash']
    assert '{"label": "attn (BM=64)", "figures": {"registers": 168, "spilled_bytes": 0}}' in with_kernels[0]


def test_an_update_says_which_kernels_it_changes():
    spills = diff(triton_baseline(), triton_baseline(spilled_bytes=1080))
    assert spills == [f"{FLASH}: cuda:h100: attn (BM=64): bytes spilled a thread 0 -> 1080"]
    none = replace(
        triton_baseline(),
        cases={**triton_baseline().cases, FLASH: planned_case(framework="triton", program=None)},
    )
    assert diff(none, triton_baseline()) == [f"{FLASH}: kernel attn (BM=64) on cuda:h100 joined"]
    assert diff(triton_baseline(), none) == [f"{FLASH}: kernel attn (BM=64) on cuda:h100 left"]


def test_an_update_without_triton_keeps_its_lines_and_its_version():
    merged = merge(triton_baseline(), baseline())
    assert merged.cases[FLASH] == triton_baseline().cases[FLASH]
    assert merged.versions["triton"] == "3.9.0"
    assert "triton" not in merge(triton_baseline(), baseline(), gone=[FLASH]).versions


def test_kernels_of_two_versions_of_triton_never_stand_in_one_file():
    newer = replace(baseline(), versions={**baseline().versions, "triton": "3.10.0"})
    with pytest.raises(UsageError, match=r"has kernels by triton 3\.9\.0, and 1 of its cases would stay"):
        merge(triton_baseline(), newer)
    assert merge(triton_baseline(), triton_baseline("3.10.0")).versions["triton"] == "3.10.0"


def test_each_case_s_kernels_are_held_to_their_own_compiler():
    scan = {"tpu:v5p": (ExactKernel("scan", {"vmem_bytes": 4 * MIB}),)}
    both = {**triton_baseline().cases, SCAN: planned_case(framework="pallas", program=None, kernels=scan)}
    versions = {**triton_baseline().versions, "libtpu": "0.0.52"}
    old = replace(triton_baseline(), cases=both, versions=versions)
    for compiler, case in (("triton", FLASH), ("libtpu", SCAN)):
        here = replace(old, versions={**versions, compiler: "9"})
        assert old.comparable_kernels(here) == {FLASH, SCAN} - {case}


DAMAGE = [
    ('"temp_bytes": 4194304', '"temp_bytes": -1', 8, "temp_bytes is -1, which is no figure"),
    ('"temp_bytes": 4194304', '"temp_bytes": NaN', 8, "temp_bytes is nan"),
    ('"temp_bytes": 4194304', '"temp_bytes": "4 MiB"', 8, "got `str` - at `$.figures"),
    ('"temp_bytes": 4194304', '"temp_bytes": 4194304,,', 8, "not JSON"),
    ('"framework": "jax", ', "", 8, "framework"),
    ('"flops_source": "compiled"', '"flops_source": "guessed"', 8, "flops_source is guessed"),
    ('"passed": true', '"passed": "yes"', 8, "got `str` - at `$.passed`"),
    ('"custom_calls": []', '"custom_calls": [1]', 8, "got `int` - at `$.custom_calls"),
    ('{"framework"', '3, "x": {"framework"', 8, "is no case"),
    (json.dumps(TOPK), json.dumps(SCATTER), 8, "stands there twice"),
    ('"schema": 1', '"schema": 2', 2, "schema 2 is not 1"),
    ('"threads": 1,', "", 1, "threads"),
    ("{\n", "<<<<<<< ours\n{\n", 1, "not JSON"),
]


@pytest.mark.parametrize(("old", "new", "line", "says"), DAMAGE)
def test_damage_is_told_with_its_line(tmp_path, old, new, line, says):
    path = tmp_path / "host.json"
    write(path, baseline())
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(UsageError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert says in str(caught.value)
    remedy = "restore it from git, or remove it and write another: seqsweep gate --static --update"
    assert str(caught.value).endswith(remedy)


def test_what_is_no_object_or_no_text(tmp_path):
    path = tmp_path / "host.json"
    path.write_text("[]")
    with pytest.raises(UsageError, match=r"host\.json:1: not a file of exact figures"):
        read(path)
    path.write_bytes(b"\xff")
    with pytest.raises(UsageError, match=r"host\.json: cannot be read"):
        read(path)


def test_a_figure_that_joined_later_is_unavailable_in_older_lines(tmp_path):
    path = tmp_path / "host.json"
    write(path, baseline({SCATTER: planned_case(figures={"generated_code_bytes": 5})}))
    path.write_text(path.read_text().replace(', "generated_code_bytes": 5', ""))
    found = read(path)
    assert found is not None
    assert found.cases[SCATTER].figures["generated_code_bytes"] is None


LESS, GONE = "FLOPs 6.55e4 -> 3.28e4 (0.500×)", "FLOPs 6.55e4 -> unavailable"


def test_an_update_of_some_cases_keeps_the_others():
    changed = planned_case(figures={"flops": 1})
    new = replace(baseline(), cases={SCATTER: changed})
    assert merge(baseline(), new).cases == {SCATTER: changed, TOPK: baseline().cases[TOPK]}
    assert merge(None, new) == new
    assert merge(baseline(), new, gone=[TOPK]) == new


@pytest.mark.parametrize("other", [{"processor": ProcessorKey.of("Xeon", ["avx2"])}, {"threads": 2}])
def test_lines_of_two_processors_never_stand_in_one_file(other):
    some = replace(baseline(**other), cases={SCATTER: planned_case()})
    with pytest.raises(UsageError, match=r"on EPYC with threads 1, and 1 of its cases would stay"):
        merge(baseline(), some)
    assert merge(baseline(), baseline(**other)) == baseline(**other)
    assert merge(baseline(), some, gone=[TOPK]) == some


def test_processors_are_told_apart_by_their_features_only():
    same = ProcessorKey.of("other name", ["avx512f", "avx2", "avx2"])
    assert baseline().same_host(baseline(processor=same))
    assert not baseline().same_host(baseline(processor=ProcessorKey.of("EPYC", ["avx2"])))
    assert not baseline().same_host(baseline(threads=2))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"figures": {"flops": 32768, "output_bytes": 16}}, f"{LESS}, outputs 0 B -> 16 B"),
        ({"figures": {"flops": None}, "flops_source": None}, f"{GONE}, flops_source compiled -> None"),
        ({"custom_calls": ("Sort",)}, "custom call TopK left, custom call Sort joined"),
        ({"contract": "recall", "passed": False}, "contract None -> recall, passed None -> False"),
        ({"program": "sha256:2"}, "another program, same figures"),
    ],
)
def test_an_update_says_what_it_changes(changed, says):
    new = baseline({TOPK: planned_case(**{"custom_calls": ("TopK",), **changed})})
    assert diff(baseline(), new) == [f"{TOPK}: {says}"]


def test_an_update_says_what_joins_and_leaves_and_where_it_was_made():
    assert diff(baseline(), baseline()) == []
    assert diff(None, baseline()) == [f"{SCATTER}: joined", f"{TOPK}: joined"]
    cases = {SCATTER: baseline().cases[SCATTER]}
    new = replace(baseline(), cases=cases, threads=2, processor=ProcessorKey.of("Xeon", []))
    assert diff(baseline(), new) == ["processor: EPYC -> Xeon", "threads: 1 -> 2", f"{TOPK}: left"]
