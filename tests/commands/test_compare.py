"""`compare --across` as a command: stored runs in, the sentence and the data out."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from harness.commands.app import app
from tests.records import PASSED, kernel_of, record_of, static_of, timing_of, tpu_kernel_of
from tests.stores import FACTS, store


@pytest.fixture
def machines(tmp_path):
    """One suite on three machines; on the last it is no faster."""
    for place, (cpu, seconds) in enumerate({"EPYC": 1.0, "Xeon": 1.05, "Atom": 2.0}.items()):
        records = [
            record_of(name, 4096, timing=timing_of([time] * 6), correctness=PASSED)
            for name, time in (("base", 2.0), ("scatter", seconds))
        ]
        store(tmp_path, f"2026112{place}T113000Z-aaaaaaa", records, facts={**FACTS, "cpu": cpu})
    return tmp_path


def across(machines, *words):
    result = CliRunner().invoke(
        app, ["compare", "--across", "--results", str(machines), *words], env={"COLUMNS": "120"}
    )
    return result.exit_code, result.output


def test_the_answer_comes_first_and_every_machine_has_its_column(machines):
    code, text = across(machines)
    assert code == 0
    first, *rest = text.splitlines()
    assert first == (
        "scatter against base at 4Ki: faster on 2 of 3 machines, about the same on 1; 1.000× to 2.000×"
    )
    (row,) = [line for line in rest if "4Ki" in line]
    assert row.count("×") == 3
    assert sum("cpu Xeon, not EPYC" in line or "cpu Atom, not EPYC" in line for line in rest) == 2


def test_data_has_every_machine_with_its_facts(machines):
    data = json.loads(across(machines, "mask", "--json")[1])
    (found,) = data["comparisons"]
    assert (found["suite"], found["implementation"], found["seq"]) == ("mask", "mask/scatter", 4096)
    assert [machine["verdict"] for machine in found["machines"]] == ["faster", "faster", "about the same"]
    assert {data["fingerprints"][machine["fingerprint"]]["cpu"] for machine in found["machines"]} == {
        "EPYC", "Xeon", "Atom",
    }  # fmt: skip


def compare_kernels(tmp_path, before, after, *words, target="cuda:h100", kind="kernels"):
    for place, kernels in enumerate((before, after)):
        static = {target: replace(static_of(temp_bytes=1), **{kind: kernels})}
        store(tmp_path, f"2026112{place}T113000Z-aaaaaaa", [record_of("flash", 4096, static=static)])
    words = ["compare", "latest~1", "latest", "--results", str(tmp_path), *words]
    result = CliRunner().invoke(app, words, env={"COLUMNS": "140"})
    assert result.exit_code == 0
    return result.output


def test_kernels_that_differ_have_a_row_with_both_figures(tmp_path):
    spilling = kernel_of(registers=255, spilled_bytes=1080, blocks_per_sm=2, program="sha256:2")
    before = (kernel_of(), kernel_of(kernel="join"))
    text = compare_kernels(tmp_path, before, (spilling, before[1]))
    (row,) = (line for line in text.splitlines() if "cuda:h100" in line)
    for cell in ("attn", "168 → 255", "0 B → 1.05 KiB", " 64 KiB ", "3 → 2", "another"):
        assert cell in row
    assert "kernels: 1 of 2 differ in a figure or in their code" in text


def test_a_pallas_kernel_s_row_has_its_vmem(tmp_path):
    larger = tpu_kernel_of(vmem_bytes=32 << 20, steps=4, refused="too much", program="sha256:2")
    on_tpu = {"target": "tpu:v5p", "kind": "tpu_kernels"}
    text = compare_kernels(tmp_path, (tpu_kernel_of(),), (larger,), **on_tpu)
    (row,) = (line for line in text.splitlines() if "tpu:v5p" in line)
    for cell in ("scan", "4 MiB → 32 MiB", " 16 MiB ", "yes → no", "8 → 4", "another"):
        assert cell in row
    assert "registers" not in text
    data = compare_kernels(tmp_path / "data", (tpu_kernel_of(),), (larger,), "--json", **on_tpu)
    (change,) = json.loads(data)["kernels"]
    assert (change["to"]["vmem_bytes"], change["of"]["refused"]) == (4 << 20, "too much")


def test_kernels_of_both_sides_are_data(tmp_path):
    alone = kernel_of(waves=None, tail=None)
    (same,) = json.loads(compare_kernels(tmp_path, (alone,), (alone,), "--json"))["kernels"]
    assert (same["target"], same["kernel"], same["seq"]) == ("cuda:h100", "attn", 4096)
    assert same["of"] == same["to"]
    assert (same["of"]["registers"], same["of"]["limiter"], same["of"]["waves"]) == (168, "registers", None)
    assert "kernels: 0 of 1 differ" in compare_kernels(tmp_path / "text", (alone,), (alone,))
