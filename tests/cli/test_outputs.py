"""The output of commands for stored runs with chosen figures, at 100 and 200 columns."""

import shlex
from dataclasses import replace

import pytest

from tests.goldens import GOLDEN, assert_golden, without_hashes
from tests.records import FAILED, PASSED, kernel_of, record_of, static_of, timing_of, tpu_kernel_of
from tests.stores import FACTS, RUNS, store, store_two_runs

COMMANDS = [
    line[2:] for line in (GOLDEN / "outputs_200.txt").read_text("utf-8").splitlines() if line.startswith("$ ")
]
RUN = "2026112{}T113000Z-aaaaaaa"
STEADY = [1.0 + 0.001 * (place % 7) for place in range(30)]


def timed(name, seconds, **more):
    samples = [seconds] * 6 if isinstance(seconds, float) else seconds
    values = {"timing": timing_of(samples), "correctness": PASSED, "started": "2026-11-20T11:30:00Z", **more}
    return record_of(name, 4096, **values)


def store_machines(folder):
    """One suite on three machines; on the last one it is not faster."""
    for place, (cpu, seconds) in enumerate({"EPYC": 1.0, "Xeon": 1.05, "Atom": 2.0}.items()):
        store(
            folder,
            RUN.format(place),
            [timed("base", 2.0), timed("scatter", seconds)],
            facts={**FACTS, "cpu": cpu},
        )


def store_kernels(folder):
    """A kernel for GPUs that spills in the second run, and one for TPUs that no longer fits."""
    spilling = kernel_of(
        registers=255, spilled_bytes=1080, blocks_per_sm=2, program="sha256:2", configuration="BM=64"
    )
    larger = tpu_kernel_of(vmem_bytes=32 << 20, steps=4, refused="too much", program="sha256:2")
    runs = ((kernel_of(configuration="BM=64"), tpu_kernel_of()), (spilling, larger))
    for place, (gpu, tpu) in enumerate(runs):
        gpus = replace(
            static_of(temp_bytes=1), kernels=(gpu, kernel_of(kernel="join", waves=None, tail=None))
        )
        tpus = replace(static_of(temp_bytes=1), tpu_kernels=(tpu,))
        record = record_of("flash", 4096, static={"cuda:h100": gpus, "tpu:v5p": tpus})
        store(folder, RUN.format(place), [record], "mask/flash")


def store_history(folder):
    """1 s on another machine; then 2 s, out of memory, and 3 s."""
    store(folder, RUN.format(0), [timed("a", 1.0)], facts={**FACTS, "threads": 4})
    store(folder, RUN.format(1), [timed("a", 2.0), record_of("compiled", 1)], commit="aaaaaaaa1")
    store(folder, RUN.format(2), [record_of("a", 4096, status="oom", reason="plans 33 GiB")])
    store(folder, RUN.format(3), [timed("a", 3.0), timed("b", [1.0])])


def store_distributions(folder):
    """scatter differs most on tied scores, and is wrong on ties."""
    records = [
        timed(name, [seconds * s for s in STEADY], workload={"distribution": data})
        for data, own in (("iid", 0.25), ("tied", 0.5), ("zeros", 0.4))
        for name, seconds in (("base", 1.0), ("scatter", own))
    ]
    wrong = {"correctness": FAILED, "reason": "12 columns are open", "workload": {"distribution": "ties"}}
    records += [timed("base", 1.0, workload={"distribution": "ties"})]
    records += [record_of("scatter", 4096, status="incorrect", **wrong)]
    store(folder, RUNS[0], records, interleaved="distribution")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "bench.yaml").write_text("default: [mask]\nsuites:\n  mask: {family: mask, seq: [4Ki]}\n")
    store_two_runs(tmp_path / "two")
    for make in (store_machines, store_kernels, store_history, store_distributions):
        make(tmp_path / make.__name__.removeprefix("store_"))
    return tmp_path


@pytest.mark.parametrize("width", [100, 200])
def test_the_output_of_commands_equals_the_golden_files(in_process, folder, monkeypatch, width):
    """The golden file of 200 columns has the commands: add a line that begins with `$ `, and rewrite it."""
    monkeypatch.setenv("COLUMNS", str(width))
    told = []
    for command in (
        COMMANDS
        if width == 200
        else [each for each in COMMANDS if "--json" not in each and "--to" not in each]
    ):
        said = in_process(*shlex.split(command), folder=folder)
        assert "Traceback" not in said.err
        lines = [f"exit code {said.code}"] if said.code else []
        lines += [line.rstrip() for line in (said.out + said.err).splitlines()]
        told += [f"$ {command}", *lines, ""]
    assert_golden(f"outputs_{width}.txt", without_hashes("\n".join(told)).replace(str(folder), "FOLDER"))
