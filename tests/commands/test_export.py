"""`export`: rows that are read back, and that nothing of others breaks."""

import csv
import io

import pandas as pd
import pytest

from harness.commands.app import app
from harness.commands.exit_codes import call_app
from tests.records import PASSED, record_of, timing_of
from tests.stores import RUNS, store, store_two_runs

NASTY = "a|b,c \x1b[31mred\x1b[0m\n"


@pytest.fixture
def results(tmp_path):
    store_two_runs(tmp_path / "results")
    return tmp_path / "results"


@pytest.fixture
def export(results, capsysbinary):
    def run(*words):
        code = call_app(app, ["export", *words, "--results", str(results)])
        out, err = capsysbinary.readouterr()
        return code, out.decode(), err.decode()

    return run


def test_parquet_reads_back_as_the_frame(export, results, tmp_path):
    from harness.frames.load import load

    file = tmp_path / "new" / "run.parquet"
    assert export("--to", "parquet", "--out", str(file)) == (0, "", "")
    frame = load(results, run="latest").frame()
    empty = [
        name for name in frame if frame[name].isna().all()
    ]  # of what nothing is known pyarrow keeps no type
    pd.testing.assert_frame_equal(pd.read_parquet(file).drop(columns=empty), frame.drop(columns=empty))


def test_foreign_control_sequences_do_not_reach_a_row(export, results):
    crashed = record_of("a", 1, status="crashed", reason=NASTY, options={"o": NASTY}, run=RUNS[0])
    timed = record_of("b", 1, timing=timing_of([1.0] * 6), correctness=PASSED, run=RUNS[0])
    store(results, "20261122T113000Z-ccccccc", [crashed, timed], "mask/b")
    _, out, _ = export("--to", "csv")
    assert "\x1b" not in out
    assert len(list(csv.reader(io.StringIO(out)))) == 3
