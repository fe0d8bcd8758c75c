"""A suite's tables of times and figures, their footnotes, and which columns they have."""

from dataclasses import replace

import pytest

from harness.analysis.roofline import UNMEASURED
from harness.analysis.suite_results import results_of
from harness.core.errors import UsageError
from harness.core.record import Correctness, Cost
from harness.report.tables.suite import CHOICES, check_columns, suite_table, suite_tables, summary_table
from harness.report.tables.table_data import Footnotes
from tests.report.charts.suites import FINGERPRINT
from tests.report.charts.suites import record as record_on_machine
from tests.report.charts.suites import suite as suite_on_machine
from tests.report.tables.columns import column, notes, texts
from tests.rooflines import machine


def table_of(suite):
    (panel,) = suite.panels.values()
    return suite_table(panel)


def summary_of(suite):
    (panel,) = suite.panels.values()
    return summary_table(panel)


def test_rows_are_lengths_then_implementations_in_the_suites_order(run, suite):
    table = table_of(suite(list(reversed(run)), "mask/broadcast"))
    assert texts(table, "seq")[0::4] == ["4Ki", "16Ki", "64Ki", "128Ki"]
    names = "two_stage[buckets=4096,keep=2] threshold_literal scatter broadcast"
    assert texts(table, "implementation")[:4] == names.split()
    assert table.breaks == (4, 8, 12)
    assert table.title == "mask: batch=1 dtype=f32 rows=128 topk=2Ki, fwd on cpu"


def test_an_expected_failure_and_a_real_one_look_different(record, suite):
    failed = {"correctness": Correctness("exact", False, "whole"), "reason": "12 elements differ"}
    records = [record(name, 4096, "incorrect", expected=name == "a", **failed) for name in "ab"]
    table = table_of(suite([*records, record("c", 4096, expected=True)]))
    assert texts(table, "status") == ["incorrect (expected)", "INCORRECT", "NOT INCORRECT"]
    assert notes(table, "status", 2) == ["registered as incorrect, yet it meets its contract"]


def test_too_few_rounds_are_a_footnote_said_once(record, suite, timing):
    pair = [record(name, 4096, timing=timing([1.0] * 3)) for name in ("broadcast", "scatter")]
    table = table_of(suite(pair))
    assert notes(table, "time", 0) == ["no interval: needs ≥ 6 rounds; has 3"]
    assert texts(table, "95 %") == ["–", "–"]
    assert (texts(table, "speedup")[1], notes(table, "speedup", 1)) == ("1.0×", [])
    assert table.caption == "No time has an interval."


def test_long_reasons_are_shortened_at_a_word(record, suite):
    table = table_of(suite([record("a", 4096, "crashed", reason="killed by a signal " * 40)]))
    ((_, sentence),) = Footnotes([column(table, "status")[0]]).lines()
    assert len(sentence) <= 220
    assert sentence.endswith(" by …")


def test_a_crash_names_the_file_that_has_its_traceback(record, suite):
    more = {"reason": "ValueError: no " * 30, "crash_file": "crashes/mask-a-4096-1a2b3c4d.txt"}
    table = table_of(suite([record("a", 4096, "crashed", **more)]))
    said = "traceback and output: crashes/mask-a-4096-1a2b3c4d.txt in the run's folder"
    assert notes(table, "status", 0)[1] == said


def test_replicates_are_one_row_with_an_interval_by_process(record, suite, timing):
    records = [
        record(name, 4096, timing=timing([seconds] * 8), replicate=process)
        for process in range(4)
        for name, seconds in (("broadcast", 0.004), ("scatter", 0.002))
    ]
    table = table_of(suite(records))
    assert texts(table, "speedup") == ["baseline", "2.000× [2.000, 2.000]"]
    assert table.caption.startswith("[low, high]: 95 %, by process")


def test_a_process_that_failed_is_counted(record, suite, timing):
    records = [record("broadcast", 4096, timing=timing([1.0] * 6), replicate=i) for i in range(3)]
    records.append(record("broadcast", 4096, "timeout", replicate=3, reason="took too long"))
    table = table_of(suite(records))
    assert texts(table, "status") == ["ok 3/4"]
    assert notes(table, "status", 0) == ["1 of 4 processes timeout: took too long"]


def test_processes_that_failed_differently_have_a_reason_each(record, suite, timing):
    ends = [("timeout", "took too long"), ("oom", "killed at its limit"), ("timeout", "took too long")]
    records = [record("broadcast", 4096, timing=timing([1.0] * 6))]
    records += [
        record("broadcast", 4096, end, replicate=i, reason=why) for i, (end, why) in enumerate(ends, 1)
    ]
    timeouts, out = "2 of 4 processes timeout: took too long", "1 of 4 processes oom: killed at its limit"
    assert notes(table_of(suite(records)), "status", 0) == [f"{timeouts}; {out}"]


def test_what_was_only_checked_shows_its_contract(record, suite):
    uncounted = Correctness("exact", False, "whole", {"mismatches": None})  # a result of another shape
    other = record("b", 4096, status="incorrect", correctness=uncounted, reason="result has another shape")
    table = table_of(suite([record("a", 4096), other], None))
    assert [c.title for c in table.columns] == ["seq", "implementation", "contract", "status"]
    assert texts(table, "contract") == ["exact: mismatches 0", "exact"]


def test_without_a_baseline_nothing_is_relative(run, suite):
    alone = suite(run, None)
    titles = [c.title for table in (table_of(alone), summary_of(alone)) for c in table.columns]
    assert not {"speedup", "temp/base", "bytes/base", "FLOPs/base", "faster"} & set(titles)


def test_never_is_said_in_the_cell(record, suite, timing):
    rivals = [(seq, *rival) for seq in (4096, 8192) for rival in (("broadcast", 1.0), ("scatter", 2.0))]
    records = [record(name, seq, timing=timing([seconds] * 6)) for seq, name, seconds in rivals]
    table = summary_of(suite(records))
    assert texts(table, "faster") == ["baseline", "never"]
    assert notes(table, "faster", 1) == ["none in range: not faster at any length"]


def test_a_warning_stands_beside_the_time(record, suite, timing):
    stolen = "the host took 12 % of the processor's time away while it was sampled (steal)"
    slow = record("broadcast", 4096, timing=timing([2.0] * 6))
    pair = [slow, record("scatter", 4096, timing=timing([1.0] * 6, warnings=(stolen,)))]
    table = table_of(suite(pair))
    assert [notes(table, "time", row) for row in (0, 1)] == [[], [stolen]]


def test_one_length_has_no_growth_to_show(record, suite, timing):
    (tables,) = suite_tables(suite([record("broadcast", 4096, timing=timing([1.0] * 6))]))
    assert tables[1].rows == ()


def test_every_panel_has_its_own_tables(record, suite):
    records = [record("broadcast", 4096, workload={"batch": batch}) for batch in (1, 2)]
    titles = [cases.title for cases, _ in suite_tables(suite(records))]
    assert ["batch=1" in title for title in titles] == [True, False]


def test_bytes_accessed_grow_in_tables_without_times(record, suite, timing, static):
    def records(**more):
        figures = [(seq, {"host": static(bytes_accessed=3.0 * seq)}) for seq in (4096, 8192)]
        return [record("broadcast", seq, static=own, **more) for seq, own in figures]

    ((_, growth),) = suite_tables(suite(records()))
    assert texts(growth, "bytes ∝ seq^") == ["1.00"]
    ((_, growth),) = suite_tables(suite(records(timing=timing([1.0] * 6))))
    assert "bytes ∝ seq^" not in [column.title for column in growth.columns]


def test_a_loops_body_is_marked(record, suite, static):
    table = table_of(suite([record("a", 4096, static={"host": static(flops=8.0, body_only=True)})]))
    assert texts(table, "FLOPs") == ["8"]
    assert notes(table, "FLOPs", 0) == ["body only: a loop's length is not known, so its body counts once"]


def test_what_a_call_saves_in_a_step_of_a_model(suite, run):
    plain = suite(run)
    layered = replace(plain, layers=58)
    column = "saved × 58 layers"
    titles = next(table.columns for table, _ in suite_tables(layered))
    assert column in [one.title for one in titles]
    assert column not in [one.title for table, _ in suite_tables(plain) for one in table.columns]


H100 = {"device": "cuda", "cpu": "AMD EPYC", "gpu": {"name": "NVIDIA H100 80GB HBM3"}}
RATIOS = ("temp/base", "bytes/base", "FLOPs/base")


@pytest.fixture
def rated(record, timing, describe):
    """The table of two cases that take 2 and 1 ms for the same work."""

    def build(cost, facts=None, **more):
        records = [
            record(name, 4096, timing=timing([s] * 6), cost=cost, fingerprint="f", **more)
            for name, s in (("broadcast", 0.002), ("scatter", 0.001))
        ]
        info = {**describe(records, "mask/broadcast"), "fingerprints": {"f": facts} if facts else {}}
        (panel,) = results_of(info, records)[0].panels.values()
        return suite_table(panel)

    return build


def titles(table):
    return [column.title for column in table.columns]


def test_the_unit_of_a_rate_suits_its_table(rated):
    table = rated(Cost(flops=4e8, bytes=1.5e3, dense_flops=8e12))
    assert texts(table, "GFLOP/s") == ["200.0", "400.0"]
    assert texts(table, "MB/s") == ["0.7500", "1.500"]
    assert texts(table, "dense PFLOP/s") == ["4.000", "8.000"]


def test_a_known_peak_stands_beside_the_rate(rated):
    table = rated(Cost(flops=4e11, bytes=1e9), H100, device="cuda", workload={"dtype": "bf16"})
    assert texts(table, "TFLOP/s (% peak)") == ["200.0 (20.22)", "400.0 (40.44)"]


def test_why_there_is_no_peak_is_said_below(rated):
    (caption,) = {column.caption for column in rated(Cost(bytes=1e9)).columns if "B/s" in column.title}
    assert caption.endswith("; no peak is documented for this processor.")


def test_ratios_of_static_figures_stand_where_they_are_asked_for(run, suite):
    (panel,) = suite(run).panels.values()
    assert not set(RATIOS) & set(titles(suite_table(panel)))
    table = suite_table(panel, requested=RATIOS)
    assert set(RATIOS) <= set(titles(table))
    assert texts(table, "temp/base")[:3] == ["", "0.00195×", "0.00195×"]


def test_what_is_asked_for_yields_to_a_narrow_terminal_last(run, suite):
    (panel,) = suite(run).panels.values()
    ranks = {c.title: c.rank for c in suite_table(panel, requested=("95 %", "peak", "time")).columns}
    assert (ranks["time"], ranks["95 %"], ranks["peak"]) == (0, 1, 1)
    assert min(rank for title, rank in ranks.items() if title not in {"95 %", "peak"} and rank) > 1


def test_an_unknown_column_lists_those_that_exist():
    check_columns(CHOICES)
    with pytest.raises(UsageError, match='unknown column "GFLOP/s"; nearest: "FLOP/s"; known: time, 95 %'):
        check_columns(["time", "GFLOP/s"])


HALF_OF_ROOF = record_on_machine("scatter", 4096, 1.0, cost=Cost(5e10, None))


def test_the_share_of_a_roof_stands_where_it_is_asked_for():
    results = replace(suite_on_machine(HALF_OF_ROOF), rooflines={FINGERPRINT: machine()})
    assert "roof" not in titles(suite_table(results))
    assert texts(suite_table(results, requested=("roof",)), "roof") == ["50.0 % of compute"]


def test_without_ceilings_a_footnote_says_how_to_measure_them():
    table = suite_table(suite_on_machine(HALF_OF_ROOF), requested=("roof",))
    assert texts(table, "roof") == ["n/a"]
    assert UNMEASURED in notes(table, "roof", 0)
