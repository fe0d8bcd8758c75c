"""What becomes of a case, by what its process does; the others of its group never notice."""

import signal
from dataclasses import replace

import pytest

from harness.core.errors import MachineError, Unsupported
from harness.core.record import STATUSES, Record
from harness.core.remedy import Remedy
from harness.run.processes.executor import Ended
from harness.run.processes.output_log import exit_cause
from tests.run.fakes import MIB, Act, FakeExecutor, acting
from tests.run.plans import SETTINGS, context, group, measure, reason, timing

ENDS = {
    "oom": Ended("oom", "it took too much; raise --memory"),
    "timeout": Ended("timeout", "no answer; raise --timeout"),
    "crashed": Ended("crashed", "killed by SIGSEGV"),
    "unsupported": Unsupported("causal window with cu_seqlens"),
}
KILLED = exit_cause(-signal.SIGKILL, "", None, killed=True)


VERBS = ("spawn", "prepare", "check", "ready", "sample", "judged")
ENDED = [(name, verb) for name in ("broadcast", "scatter") for verb in VERBS]


@pytest.mark.parametrize(("name", "verb"), ENDED)
@pytest.mark.parametrize("status", ENDS)
def test_process_death_settles_only_its_case(tmp_path, status, name, verb):
    found = measure(FakeExecutor({name: acting(verb, ENDS[status])}), tmp_path)
    ended, other = found.pop(name), found.popitem()[1]
    assert (ended.status, ended.reason, ended.timing) == (status, str(ENDS[status]), None)
    assert ended.baseline or name == "scatter"
    assert (other.status, timing(other).stopped) == ("ok", "interval")
    assert timing(other).low_s is not None


@pytest.mark.parametrize(
    ("end", "remedy"),
    [
        (Unsupported("n/a (no tiles; has 3); raise --memory"), ""),
        (Ended("crashed", "ValueError: n/a (no tiles; has 3); raise --memory"), ""),
        (ENDS["oom"], "raise --memory"),
        (ENDS["timeout"], "raise --timeout"),
        (KILLED, "lower --memory"),
    ],
)
def test_the_remedy_follows_from_the_end_and_not_from_its_words(tmp_path, end, remedy):
    found = measure(FakeExecutor({"scatter": acting("prepare", end)}), tmp_path)
    assert (found["scatter"].reason, found["scatter"].remedy) == (str(end), remedy)
    assert found["broadcast"].remedy is None
    assert Record.from_json(found["scatter"].to_json()) == found["scatter"]
    assert "remedy" not in found["broadcast"].to_json()


def test_run_stops_if_no_process_can_start(tmp_path):
    executor = FakeExecutor({"scatter": Act(spawn=MachineError("no process can be started"))})
    with pytest.raises(MachineError):
        measure(executor, tmp_path)
    assert executor.living == []
    assert list(tmp_path.iterdir()) == []


def test_scratch_folder_error_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    executor = FakeExecutor()
    with pytest.raises(MachineError, match="cannot be created"):
        measure(executor, tmp_path, shared=context(executor, tmp_path / "file"))


@pytest.mark.parametrize(
    ("name", "act", "says"),
    [
        ("scatter", Act(planned=1001 * MIB), "the compiler plans 1001 MiB; the limit is 1000 MiB"),
        ("threshold", Act(planned=1001 * MIB), "the trace over fake tensors plans 1001 MiB"),
        ("plain", Act(planned=None, input_bytes=2000 * MIB), "its inputs take 1.95 GiB"),
    ],
)
def test_a_plan_beyond_the_limit_is_oom_and_never_runs(tmp_path, name, act, says):
    executor = FakeExecutor({name: act})
    found = measure(executor, tmp_path, group(["broadcast", name]))
    assert found[name].status == "oom"
    assert says in reason(found[name])
    assert "raise --memory" in reason(found[name])
    assert found[name].static["host"].fits is False
    assert executor.verbs(name) == ["prepare"]
    assert found["broadcast"].status == "ok"


ABORTED = Ended("crashed", "killed by SIGABRT; run only this case to see why", died_of="killed by SIGABRT")


NEAR = (
    "the compiler plans 900 MiB, near the limit of 1000 MiB, and its process died (killed by SIGABRT): "
    "raise --memory or shorten the sequence"
)


@pytest.mark.parametrize(
    ("planned", "verb", "end", "found"),
    [
        *((900, verb, ABORTED, ("oom", NEAR)) for verb in ("check", "ready", "sample", "judged")),
        (800, "check", ABORTED, ("crashed", ABORTED.reason)),
        (900, "check", Ended("crashed", "ValueError: no", alive=True), ("crashed", "ValueError: no")),
        (900, "check", Ended("crashed", "it answered unasked"), ("crashed", "it answered unasked")),
    ],
)
def test_a_death_near_the_memory_limit_is_oom_and_names_the_plan(tmp_path, planned, verb, end, found):
    act = replace(acting(verb, end), planned=planned * MIB, input_bytes=0)
    records = measure(FakeExecutor({"scatter": act}), tmp_path)
    assert (records["scatter"].status, records["scatter"].reason) == found
    assert records["broadcast"].status == "ok"


def one_by_one(executor, folder, *seqs, depth="run"):
    """The records of these lengths, of one run; and what it shares."""
    shared = context(executor, folder, depth=depth)
    return [measure(executor, folder, group(seq=seq), shared=shared) for seq in seqs], shared


def test_a_larger_length_is_inferred_after_an_oom(tmp_path):
    executor = FakeExecutor({"scatter": Act(seq={1024: Act(verbs={"check": ENDS["oom"]})})})
    (first, later), _ = one_by_one(executor, tmp_path, 1024, 4096)
    assert (first["scatter"].status, later["scatter"].status) == ("oom", "skipped")
    assert later["scatter"].reason == "inferred from the oom at seq 1Ki; to try it: --seq 4096 only"
    assert later["scatter"].static["host"].temp_bytes == MIB
    assert later["broadcast"].status == "ok"


def test_a_larger_length_is_not_even_compiled_after_a_compile_that_timed_out(tmp_path):
    executor = FakeExecutor({"scatter": Act(seq={1024: Act(verbs={"prepare": ENDS["timeout"]})})})
    (first, later), _ = one_by_one(executor, tmp_path, 1024, 4096)
    assert (first["scatter"].status, later["scatter"].status) == ("timeout", "skipped")
    assert "timeout of compiling at seq 1Ki" in reason(later["scatter"])
    assert {seq for who, seq, *_ in executor.asked if who == "scatter"} == {1024}


def test_case_predicted_over_budget_is_skipped(tmp_path):
    executor = FakeExecutor({"broadcast": Act(seconds=lambda seq: 0.1 * (seq / 1024) ** 2)})
    measured, _ = one_by_one(executor, tmp_path, 1024, 2048, 16384)
    assert [each["broadcast"].status for each in measured] == ["ok", "ok", "skipped"]
    found = measured[-1]
    predicted = "predicted 26 s a call (exponent 2.00, from shorter lengths)"
    assert found["broadcast"].reason == f"{predicted}; the limit here is 8.0 s: raise --budget to 31s"
    assert found["broadcast"].remedy == Remedy.MORE_BUDGET
    assert timing(found["scatter"]).stopped == "interval"


def test_all_statuses_are_covered():
    assert {*ENDS, "ok", "incorrect", "skipped", "planned", "unjudged"} == set(STATUSES)


def test_time_is_accounted_by_activity(tmp_path):
    executor = FakeExecutor()
    shared = context(executor, tmp_path)
    measure(executor, tmp_path, shared=shared)
    assert shared.spent["compile"] == pytest.approx(2 * (0.5 - 0.1))
    assert shared.spent["startup"] == pytest.approx(2 * (0.02 + 0.1) + 0.02)  # two cases and the reference
    assert sum(shared.spent.values()) == pytest.approx(executor.clock.now)
    assert shared.spent["turns"] == pytest.approx(0.0)


def test_job_has_all_fields_of_the_process(tmp_path):
    executor = FakeExecutor()
    measure(executor, tmp_path, group(["scatter"], mode="fwd_bwd"))
    (job, limit), (reference, _) = executor.jobs
    assert limit == SETTINGS.memory_bytes
    assert (job.role, job.framework, job.module) == ("case", "jax", "impls.mask.scatter")
    assert (reference.role, reference.framework) == ("reference", "numpy")
    assert job.folder == reference.folder
    assert (job.seed, job.threads, job.memory_bytes) == (0, 1, SETTINGS.memory_bytes)
    assert [a["cotangent"] for *_, verb, a in executor.asked if verb == "check"] == ["cotangent-exact"]


def test_the_output_of_a_crash_is_kept_and_named(tmp_path):
    fell = Ended("crashed", "killed by SIGSEGV", output="Printed:\n\nlast words\n")
    executor = FakeExecutor({"scatter": Act(verbs={"sample": fell})})
    shared, kept = context(executor, tmp_path), []

    def keep(case, replicate, text):
        kept.append((case.id, replicate, text))
        return "crashes/scatter.txt"

    shared.keep_crash = keep
    found = measure(executor, tmp_path, shared=shared, replicate=2)
    assert (found["scatter"].crash_file, found["broadcast"].crash_file) == ("crashes/scatter.txt", "")
    assert found["scatter"].reason == "killed by SIGSEGV"
    ((case_id, replicate, text),) = kept
    assert (case_id, replicate) == (found["scatter"].case, 2)
    assert text == f"{case_id}\nkilled by SIGSEGV\n\nPrinted:\n\nlast words\n"
