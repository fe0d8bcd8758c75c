"""Every misbehaviour results in a status with a one-sentence reason, and does not affect other cases."""

from pathlib import Path

import pytest

from harness.catalog.loading import load
from harness.core.errors import MachineError
from harness.run.processes.executor import Ended

HERE = Path(__file__).parent
HOSTILE, ODD = (HERE / f"{name}_plugin.py" for name in ("hostile", "odd"))
SHORT = dict.fromkeys(("hangs", "stops_itself", "announces_compilations"), 0.5)


@pytest.fixture(autouse=True)
def no_shared_memory(topk):
    """A scratch folder, which is removed after the tests."""
    yield
    for path in Path("/dev/shm").glob(f"seqsweep-{topk.processes.mark}-*"):
        path.unlink(missing_ok=True)


def outcomes(path):
    """(plugin, name, framework, status, part of the reason) of each outcome that a plugin declares."""
    module = load(str(path))
    found = []
    for name, (status, says) in module.OUTCOMES.items():
        framework = vars(module)[name].framework if name in vars(module) else "numpy"
        marks = [getattr(pytest.mark, framework)] if framework != "numpy" else []
        found.append(pytest.param(path, name, framework, status, says, marks=marks, id=f"{path.stem}-{name}"))
    return found


@pytest.mark.parametrize(
    ("plugin", "name", "framework", "status", "says"), [*outcomes(HOSTILE), *outcomes(ODD)]
)
def test_misbehaviour_has_the_expected_status(topk, plugin, name, framework, status, says):
    own, options = ("returns", {"options": {"what": name}}) if plugin is ODD else (name, {})
    worker = topk.spawn(framework, f"topk/{own}", plugin, **options)
    ended, sentence = topk.outcome(worker, SHORT.get(name, 30.0))
    assert (ended, says in sentence) == (status, True), sentence
    assert "\n" not in sentence


def test_endless_output_is_truncated(topk):
    ended, _ = topk.outcome(topk.spawn("numpy", "topk/chatters", HOSTILE), 1.0)
    assert ended == "timeout"
    folder = topk.processes.executor.folder
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 64 << 20


def test_results_are_removed_after_the_check(topk):
    before = set(topk.folder.iterdir())
    assert {"set0", "set1"} <= {path.name for path in before}
    worker = topk.spawn("numpy", "topk/behaves", HOSTILE)
    worker.ask("prepare", 60, trace_s=1.0)
    worker.ask("check", 60, cotangent=None, result="result")
    assert set(topk.folder.iterdir()) - before == {topk.folder / "result"}
    assert topk.judge()["correctness"]["passed"]
    worker.close()
    assert set(topk.folder.iterdir()) == before


def test_partly_written_results_are_removed(topk):
    before = set(topk.folder.iterdir())
    topk.outcome(topk.spawn("numpy", "topk/returns", ODD, options={"what": "objects"}))
    assert set(topk.folder.iterdir()) == before


@pytest.mark.torch
def test_other_cases_are_not_affected(topk):
    def evidence():
        """Static figures without times, cost and verdict of two implementations that behave."""
        found = []
        for framework, name, module in (
            ("numpy", "topk/behaves", HOSTILE),
            ("torch", "topk/torch_topk", "impls.topk.exact.torch_topk"),
        ):
            worker = topk.spawn(framework, name, module)
            prepared, verdict = topk.evidence(worker)
            worker.close()
            for volatile in ("lower_s", "compile_s"):
                prepared["static"].pop(volatile)
            found.append((prepared["static"], prepared["cost"], verdict))
        return found

    alone = evidence()
    assert all(verdict["correctness"]["passed"] for _, _, verdict in alone)
    hostile = [topk.spawn("numpy", f"topk/{name}", HOSTILE) for name in load(str(HOSTILE)).MEDDLING]
    for worker in hostile:
        topk.evidence(worker)
    beside = evidence()
    for worker in hostile:
        worker.close()
    for name in ("aborts", "closes_descriptors"):
        topk.outcome(topk.spawn("numpy", f"topk/{name}", HOSTILE))
    assert alone == beside == evidence()


def test_a_full_disk_is_a_machine_error(topk):
    before = set(topk.folder.iterdir())
    with pytest.raises(MachineError) as caught:
        topk.outcome(topk.spawn("numpy", "topk/finds_no_space", HOSTILE))
    assert str(caught.value).startswith(
        f"{topk.folder} (below TMPDIR) has no space for 4.39 KiB of arrays (File too large,"
    )
    assert str(caught.value).endswith("; free space there, or set TMPDIR, and continue with run --resume")
    assert set(topk.folder.iterdir()) == before


def crash_of(topk, name):
    with pytest.raises(Ended) as end:
        topk.first_call("numpy", f"topk/{name}", HOSTILE, 60, trace_s=1.0)
    assert end.value.status == "crashed"
    return end.value


def test_an_exceptions_traceback_and_output_are_stored(topk):
    raised, printed = crash_of(topk, "raises_aloud").output.split("Printed:")
    assert raised.startswith("Raised:\n\nTraceback")
    assert "KeyError: 'the cause'" in raised
    assert 'hostile_plugin.py", line ' in raised
    assert raised.rstrip().endswith("ValueError: the effect")
    assert printed.startswith("\n\nabout to raise (")


def test_output_of_a_dead_process_is_stored(topk):
    crash = crash_of(topk, "leaves_aloud")
    assert "exit code 3" in crash.reason
    assert crash.output == "Printed:\n\nabout to leave\n"
