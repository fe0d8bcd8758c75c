"""Who owns a planned peak, in the document, in the page and in a receipt."""

from dataclasses import replace

import pytest

from harness.core.peak_owners import Owner, Owners
from harness.findings.compose import compose
from harness.findings.html.to_html import to_html
from harness.findings.receipt import receipt_of
from harness.findings.receipt_text import MOST_OWNED, read_receipt, to_text
from tests.findings.kept import K, store_kept_run, sweep
from tests.findings.test_document import page
from tests.records import kernel_of, static_of

SCORE = Owner("fusion", "temp", 8 * K, "eq", "pred[8192]", "impls/mask/dense.py:22")
PEAK = Owners(10 * K, 0, 2 * K, (SCORE,), (0, 0))
SAYS = "on host: peak 10 KiB: 8 KiB is eq at impls/mask/dense.py:22"
HOLES = "(2 KiB of the plan are in no listed buffer: alignment, holes, values of loops)"


@pytest.fixture
def run_with_owners(tmp_path):
    """A run whose dense cases were asked who owns their peak."""
    plan = static_of(temp_bytes=8 * K, argument_bytes=K, output_bytes=K, fits=True, owners=PEAK)
    records = [replace(record, static={"host": plan}) if record.static else record for record in sweep()]
    return store_kept_run(tmp_path, records)


def test_the_document_names_the_longest_length_that_was_asked_beside_its_plan(run_with_owners):
    plans = (
        page(run_with_owners).partition("<!-- seqsweep:plans -->")[2].partition("<!-- seqsweep:end -->")[0]
    )
    assert f"- dense at 8Ki {SAYS} {HOLES}." in plans
    assert "dense at 4Ki" not in plans
    assert plans.index("peak") < plans.index("| host |")


def test_a_run_of_the_host_that_nobody_asked_has_no_plans(tmp_path):
    assert "seqsweep:plans" not in page(store_kept_run(tmp_path, sweep()))


def test_the_page_has_the_sentence(run_with_owners):
    assert f"dense at 8Ki {SAYS}" in to_html(
        compose([run_with_owners], charts=False), [run_with_owners], "Findings", None
    )


def test_a_receipt_has_it_and_an_edit_of_it_is_found(run_with_owners):
    text = to_text(receipt_of(run_with_owners))
    assert f"- dense at 8Ki {SAYS} {HOLES}." in text
    receipt, edited = read_receipt(text, "x.md")
    assert (receipt.panels[0].owners, edited) == ((f"dense at 8Ki {SAYS} {HOLES}.",), "")
    assert "was edited" in read_receipt(text.replace("dense.py:22 ", "dense.py:23 "), "x.md")[1]


def test_a_receipt_without_owners_says_nothing_of_them_and_one_with_many_counts_them(
    run_with_owners, tmp_path
):
    assert "Who owns" not in to_text(receipt_of(store_kept_run(tmp_path / "none", sweep())))
    receipt = receipt_of(run_with_owners)
    many = replace(receipt.panels[0], owners=tuple(f"case {n}." for n in range(MOST_OWNED + 3)))
    assert "- And 3 more in the data." in to_text(replace(receipt, panels=(many,)))


def test_a_receipt_has_what_the_plans_of_kernels_warn_of(tmp_path):
    slow = kernel_of(instructions={"mma": 96})
    plan = {
        "cuda:h100": static_of(temp_bytes=8 * K, argument_bytes=K, output_bytes=K, fits=True, kernels=(slow,))
    }
    records = [replace(record, static=plan) for record in sweep()]
    receipt = receipt_of(store_kept_run(tmp_path, records))
    text = to_text(receipt)
    assert "attn of sparse at 16Ki uses no warp-group matrix instructions (HGMMA)" in text
    assert read_receipt(text, "it") == (receipt, "")
