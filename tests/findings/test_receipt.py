"""A receipt: every edit of one side alone is found, and each line is held beside what a machine gives."""

import json
import random
from dataclasses import replace

import pytest

from harness.core.errors import UsageError
from harness.core.record import Correctness
from harness.findings.receipt import CORRECT, CROSSOVER, FITS, VERDICT, receipt_of
from harness.findings.receipt_text import read_receipt, to_text
from harness.findings.recheck import DIFFERS, HOLDS, UNCHECKED, Here, check_lines
from tests.commands.test_text_of_others import NASTY, assert_shown
from tests.findings.kept import MACHINE, K, store_kept_run, sweep, timed
from tests.records import record_of, static_of

TPU = "tpu:v5p"


def planned(bytes_, *, fits=True):
    return static_of(temp_bytes=bytes_, argument_bytes=K, output_bytes=K, fits=fits)


def records():
    recall = Correctness("recall", True, "whole", {"recall": 0.9912})
    made = [replace(r, static={**r.static, TPU: planned(r.seq)}) for r in sweep()]
    return [*made, record_of("approx", 4 * K, correctness=recall, options={"how": "--> <b>--"})]


@pytest.fixture
def receipt(tmp_path):
    return receipt_of(store_kept_run(tmp_path, records()), "unchanged against main")


def test_it_says_verdict_crossover_memory_recall_and_gate(receipt):
    text = to_text(receipt)
    visible = text.partition(" -->\n")[2]
    assert [line.kind for line in receipt.lines] == [VERDICT, CROSSOVER, FITS, FITS, CORRECT]
    assert "sparse over dense at 8Ki 2.000× \\[2.000, 2.000\\]" in visible
    assert f"fits {TPU}: dense ≥ 16Ki" in visible
    assert "6 of 6 cases checked meet their contract, recall 0.9912 to 0.9912" in visible
    assert "- gate: unchanged against main" in visible
    assert text.count("\n") <= 60
    assert text.count("--") == text.count("<!--") + text.count("-->"), "nothing ends the comment early"


def test_it_reads_back_from_the_middle_of_a_page(receipt):
    for text in (f"Prose.\n\n{to_text(receipt)}\nMore.", to_text(receipt).replace("\n", "\r\n")):
        assert read_receipt(text, "r.md") == (receipt, "")


@pytest.mark.parametrize(
    ("field", "value"),
    [("machine", {"gpu": "x"}), ("machine", {"cpu": 3}), ("seed", -1), ("seed", 1 << 63), ("budget_s", -1.0)],
)
def test_data_that_no_command_could_take_are_no_receipt(receipt, field, value):
    text = to_text(receipt)
    data = json.loads(text.partition("receipt ")[2].partition(" -->")[0])
    forged = json.dumps({**data, field: value}, separators=(",", ":")).replace("--", "-\\u002d")
    with pytest.raises(UsageError, match=r"^r\.md: its data are no receipt \("):
        read_receipt(f"<!-- seqsweep-receipt {forged} -->\nx\n<!-- seqsweep-receipt end -->\n", "r.md")


def test_many_panels_are_sixty_lines(receipt):
    many = replace(receipt, lines=receipt.lines * 40)
    assert to_text(many).count("\n") <= 60
    assert read_receipt(to_text(many), "r.md") == (many, "")


def test_one_digit_of_text_or_data_is_always_found(receipt):
    text = to_text(receipt)
    digits = [at for at, character in enumerate(text) if character.isdigit()]
    for seed in range(100):
        chosen = random.Random(seed)
        at = chosen.choice(digits)
        other = chosen.choice([digit for digit in "0123456789" if digit != text[at]])
        try:
            _, edited = read_receipt(text[:at] + other + text[at + 1 :], "r.md")
        except UsageError:
            continue  # of a schema that this version cannot read, or no receipt any more
        assert edited.startswith("r.md was edited: it "), (seed, at)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "r.md: holds no whole receipt"),
        ("<!-- seqsweep-receipt {} -->\n<!-- seqsweep-receipt end -->", "its data are no receipt"),
        ('<!-- seqsweep-receipt {"schema": 1} -->\n<!-- seqsweep-receipt end -->', "missing required field"),
    ],
)
def test_what_is_no_receipt_is_refused_in_a_sentence(text, says):
    with pytest.raises(UsageError, match=says):
        read_receipt(text, "r.md")


def test_text_of_others_stays_text(tmp_path):
    named = receipt_of(
        store_kept_run(tmp_path, records(), command=["seqsweep", f"{NASTY} -->"]), f"{NASTY} -->"
    )
    text = to_text(named)
    visible = text.partition(" -->\n")[2]
    assert_shown(text, once=False)
    assert "<script>" not in visible.replace("`", "").partition("- replay:")[0]
    assert text.count("-->") - visible.partition("- replay:")[2].partition("\n")[0].count("-->") == 2
    assert read_receipt(text, "r.md") == (named, "")


def here(receipt, *changed, machine=MACHINE["sha256:aa"], **more):
    """What a machine gives that makes the same of everything, but for the `changed` records."""
    made = {record.case: record for record in (*records(), *changed)}
    plans = {
        (plan.case, line.target): planned(plan.bytes - 2 * K, fits=plan.fits)
        for line in receipt.lines
        for plan in line.plans
    }
    return Here(machine, made, **{"plans": plans, **more})


def outcomes(receipt, found):
    return [(check.line.kind, check.outcome) for check in check_lines(receipt, found)]


ALL = [(VERDICT, HOLDS), (CROSSOVER, HOLDS), (FITS, HOLDS), (FITS, HOLDS), (CORRECT, HOLDS)]


def test_the_same_holds(receipt):
    assert outcomes(receipt, here(receipt)) == ALL


def test_a_ratio_elsewhere_differs_with_both_intervals(receipt):
    checks = check_lines(receipt, here(receipt, timed("sparse", 8 * K, 3e-3)))
    assert [check.outcome for check in checks] == [DIFFERS, DIFFERS, HOLDS, HOLDS, HOLDS]
    assert checks[0].why == "here 1.333× [1.333, 1.333], there 2.000× [2.000, 2.000]"


def test_a_plan_differs_where_versions_agree_and_is_unchecked_where_not(receipt):
    plans = {key: planned(1) for key in here(receipt).plans}
    other = {**MACHINE["sha256:aa"], "versions": {"jax": "0.9"}}
    assert outcomes(receipt, here(receipt, plans=plans))[2:4] == [(FITS, DIFFERS)] * 2
    checks = check_lines(receipt, here(receipt, plans=plans, machine=other))
    assert [check.outcome for check in checks[2:4]] == [UNCHECKED] * 2
    assert "this machine differs in versions.jax" in checks[3].why


def test_another_processor_leaves_absent_targets_exact(receipt):
    other = {**MACHINE["sha256:aa"], "cpu": "another"}
    plans = {key: planned(1) for key in here(receipt).plans}
    found = check_lines(receipt, here(receipt, plans=plans, machine=other))
    assert [(check.line.target, check.outcome) for check in found[2:4]] == [
        ("host", UNCHECKED),
        (TPU, DIFFERS),
    ]


def test_what_is_missing_is_named(receipt):
    found = Here(MACHINE["sha256:aa"], missing={TPU: "libtpu is not installed", records()[0].case: "unknown"})
    checks = check_lines(receipt, found)
    assert {check.outcome for check in checks} == {UNCHECKED}
    assert checks[3].why.endswith("libtpu is not installed; and 1 more")


def test_a_contract_that_fails_here_differs(receipt):
    failed = record_of(
        "sparse", 4 * K, status="incorrect", correctness=Correctness("exact", False, "whole", {})
    )
    found = check_lines(receipt, here(receipt, failed))
    assert found[4].outcome == DIFFERS
    assert "exact not met here, exact met there" in found[4].why
