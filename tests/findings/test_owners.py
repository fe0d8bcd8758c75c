"""Who owns a planned peak, in the document and in the page."""

from dataclasses import replace

import pytest

from harness.core.peak_owners import Owner, Owners
from harness.findings.compose import compose
from harness.findings.html import to_html
from tests.findings.kept import K, store_kept_run, sweep
from tests.findings.test_document import page
from tests.records import static_of

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
