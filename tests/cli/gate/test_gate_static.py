"""`gate --static` on a plugin whose working tree differs from its commit in one way per suite.

One gate has all the suites; what only gates of their own can show runs with `make test-all`.
"""

import xml.etree.ElementTree as ET

import pytest

pytestmark = pytest.mark.jax

BENCH = """\
plugins: [kernels.py, selection.py]
defaults: {{memory: 4GiB, timeout: 60s}}
suites:
  same: &points
    family: points
    seq: 64
    impls: [same]
  roomy: {{<<: *points, impls: [roomy]}}
  busy: {{<<: *points, impls: [busy]}}
  wrong: {{<<: *points, impls: [wrong]}}
  selection: {{family: topk, seq: 1Ki, rows: 4, topk: 16, recall: 0.5, impls: [quick]}}
  removed: {{<<: *points, impls: [{removed}], accept: {{"points/went@*": {{case: it has no callers}}}}}}
"""
NOW = """\
  added: {<<: *points, impls: [fresh]}
  shifted: {<<: *points, shift: 1}
  meant: {<<: *points, seq: 128, impls: [roomy], accept: {"points/roomy@seq=128*": rolls for alignment}}
"""
ADDS = "return lambda x: x + x"
ROLLS = """\
import jax.numpy as jnp
from jax import lax

def double(x):
    return jnp.roll(2 * lax.optimization_barrier(jnp.roll(x, 1)), -1)

return double"""
BEFORE = {"same": ADDS, "roomy": ("jax", ADDS), "busy": ("jax", "return lambda x: x * 2"), "wrong": ADDS}
BEFORE |= {"gone": ADDS, "went": ADDS}
AFTER = {
    "same": ADDS,
    "roomy": ("jax", ROLLS),
    "busy": ("jax", "return lambda x: x * 3 - x"),
    "wrong": "return lambda x: x + x + (x > 50)",
    "fresh": ADDS,
}
SELECTION = '''\
from harness import implementation
from impls.topk.family import TopkWorkload


@implementation(framework="jax", semantics="recall")
def quick(w: TopkWorkload):
    """The largest of every fourth score."""
    import jax.numpy as jnp
    from jax import lax

    def select(scores):
        {body}

    return select
'''
APPROXIMATE = """\
grid = scores.reshape(w.batch, w.rows, 4, w.seq // 4)
        values, column = lax.top_k(jnp.max(grid, axis=2), w.topk)
        layer = jnp.take_along_axis(jnp.argmax(grid, axis=2), column, axis=-1)
        return values, layer * (w.seq // 4) + column"""
FALLS_BACK = "return lax.top_k(scores, w.topk)"


@pytest.fixture(scope="module")
def work(repositories, plugin_of):
    """A repository without a remote: tag `broken` has a plugin with a syntax error, HEAD a good one."""
    made = repositories("work")
    files = {
        "bench.yaml": BENCH.format(removed="same, gone, went"),
        "selection.py": SELECTION.format(body=APPROXIMATE),
        ".gitignore": "results/\n",
    }
    made.commit({**files, "kernels.py": "def ("}, "broken")
    made.commit({"kernels.py": plugin_of(**BEFORE)}, "good")
    made.write(
        {
            "bench.yaml": BENCH.format(removed="same") + NOW,
            "selection.py": SELECTION.format(body=FALLS_BACK),
            "kernels.py": plugin_of("shift: int = axis(0)", **AFTER),
        }
    )
    return made


@pytest.fixture(scope="module")
def static(gate, work):
    def ask(*words, **more):
        return gate(work, *words, "--static", "--against", "git:HEAD", **more)

    return ask


@pytest.fixture(scope="module")
def every(static, tmp_path_factory):
    """(output of a gate over all suites on GitHub, the folder of its reports)."""
    folder = tmp_path_factory.mktemp("github")
    github = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    suites = ("same", "roomy", "busy", "wrong", "selection", "removed", "added", "shifted", "meant")
    return static(*suites, "--json", "--junit", str(folder / "reports" / "gate.xml"), **github), folder


def name(case):
    """A case's implementation, and its difference from other cases of these suites."""
    marks = {"seq=128": " at 128", "shift=1": " shifted"}
    told = [mark for field, mark in marks.items() if field in case["case"]]
    return "".join([case["case"].split("@")[0].split("/")[1], *told])


def verdicts(said):
    return {name(case): case["verdict"] for case in said.json["cases"]}


def reasons(said):
    return {name(case): case["reason"] for case in said.json["cases"]}


def test_every_kind_of_change_has_a_verdict_and_the_worst_is_the_gates(every):
    said, _ = every
    assert verdicts(said) == {
        "same": "unchanged",
        **dict.fromkeys(["roomy", "busy", "quick"], "regressed"),
        "wrong": "incorrect",
        "gone": "vanished",
        **dict.fromkeys(["fresh", "same shifted"], "new"),
        "roomy at 128": "unchanged",
    }
    assert said.code == said.json["exit_code"] == 4
    assert said.json["verdict"] == "incorrect"


def test_more_memory_more_arithmetic_and_a_fallback_are_regressions(every):
    """One more temporary buffer; twice the FLOPs; and lax.top_k instead of an approximation."""
    told = reasons(every[0])
    assert "temp 0 B -> 256 B" in told["roomy"]
    assert told["busy"] == "FLOPs 64 -> 128 (2.00×)"
    assert told["quick"].startswith("no longer an approximation: recall 0.")
    regressed = [case for case in every[0].json["cases"] if case["verdict"] == "regressed"]
    assert all(case["file"].endswith(".py") and case["line"] > 1 for case in regressed)


def test_cases_that_the_base_lacks_have_a_reason(every):
    told = reasons(every[0])
    assert "the base does not have field shift=1" in told["same shifted"]
    assert "points/fresh is not registered in the base" in told["fresh"]


def test_an_accepted_removal_is_left_out_with_its_reason(every):
    assert list(every[0].json["left_out"].values()) == ["vanished, as accepted: it has no callers"]


def test_an_accepted_change_is_a_note(every):
    notes = next(case["notes"] for case in every[0].json["cases"] if name(case) == "roomy at 128")
    assert any("temp 0 B -> 512 B: rolls for alignment" in note for note in notes), notes


def test_summary_annotations_and_junit_have_the_same_counts(every):
    said, folder = every
    assert [line.split(" ")[0] for line in said.err.splitlines() if line.startswith("::")] == ["::error"] * 5
    page = (folder / "summary.md").read_text()
    assert page.startswith("### Gate: incorrect: 1 incorrect, 3 regressed, 1 vanished")
    suites = ET.parse(folder / "reports" / "gate.xml").getroot()
    counts = {name: suites.get(name) for name in ("tests", "failures", "errors")}
    assert counts == {"tests": "10", "failures": "4", "errors": "1"}


@pytest.mark.full
def test_a_base_that_does_not_import_is_one_sentence(gate, work, tmp_path):
    report = tmp_path / "gate.xml"
    said = gate(work, "same", "--static", "--against", "git:broken", "--junit", str(report))
    assert said.code == 4
    assert said.out.count("\n") == 1
    assert "the base, git:" in said.out
    assert "kernels.py:1: invalid syntax" in said.out
    assert ET.parse(report).getroot().get("errors") == "1"
    as_data = gate(work, "same", "--against", "git:broken", "--json")
    assert as_data.json["broken"]
    assert as_data.json["verdict"] == "invalid"
    assert as_data.code == 4


@pytest.mark.full
def test_a_peak_is_compared_with_a_commit(seqsweep, environment, work):
    words = ["points/busy", "points/roomy", "--seq", "64", "--owners", "--against", "git:HEAD", "--json"]
    said = seqsweep("static", *words, folder=work.folder, **environment)
    base = said.json["base"]
    (changes,) = base["changes"]
    found = {name(case): case["verdict"] for case in changes["cases"]}
    assert (said.code, found["busy"], found["roomy shifted"]) == (1, "regressed", "new")
    assert base["name"].startswith("git:")
    temporaries = {name(figures): figures["temp_bytes"] for figures in base["figures"]}
    assert (temporaries["roomy"], temporaries["roomy shifted"]) == (0, None)
