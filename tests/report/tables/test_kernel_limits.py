"""How far implementations go on a GPU, beside their kernels and bounds: known figures in, known cells out."""

from dataclasses import replace

from harness.core.record import Cost
from harness.report.tables.kernel_limits import limits_lines, limits_table
from tests.records import kernel_of, static_of
from tests.report.charts.suites import record, suite

K = 1024
TARGETS = ("cuda:a100", "cuda:h100")
SPILLING = kernel_of(registers=255, spilled_bytes=128, blocks_per_sm=1)


def planned(name, seq, *kernels, flops=989e12, bytes_=1e9):
    static = {target: replace(static_of(temp_bytes=1), kernels=kernels) for target in TARGETS}
    return record(
        name, seq, status="planned", workload={"dtype": "bf16"}, static=static, cost=Cost(flops, bytes_, None)
    )


def with_longest(results, **lengths):
    """As run.json has it, of every target, the last one first."""
    panel = next(iter(results.by_case.values())).panel
    entry = {"suite": results.name, "panel": panel, "reason": None}
    return [
        {
            **entry,
            "implementation": f"{results.family}/{name}",
            "target": target,
            "seq": fits,
            "beyond": beyond,
        }
        for target in reversed(TARGETS)
        for name, (fits, beyond) in lengths.items()
    ]


def test_a_row_has_the_longest_length_the_neediest_kernel_and_the_bound_at_the_longest_asked_for():
    results = suite(
        planned("dense", K, kernel_of(registers=64)),
        planned("dense", 4 * K, kernel_of(registers=168), kernel_of(registers=64)),
        planned("flex", 4 * K, SPILLING, kernel_of(registers=200), flops=989e9, bytes_=3.352e12),
        planned("plain", 4 * K),
    )
    largest = with_longest(results, dense=(64 * K, None), flex=(8 * K, 12 * K), plain=(2 * K, 3 * K))
    table = limits_table(results, largest)
    titles = [column.title for column in table.columns]
    rows = [dict(zip(titles, (cell.text for cell in row), strict=True)) for row in table.rows]
    assert [row["target"] for row in rows] == ["cuda:a100", "", "", "cuda:h100", "", ""]
    dense, flex, plain = rows[3:]
    assert [dense[title] for title in ("longest", "registers", "spilled")] == ["≥ 64Ki", "168", "0 B"]
    assert (dense["FLOPs/B"], dense["bound"]) == ("9.89e+05", "1.00 s at 4Ki")
    assert [flex[title] for title in ("longest", "registers", "spilled", "blocks/SM")] == [
        "8Ki, not 12Ki", "255", "128 B", "1",
    ]  # fmt: skip
    assert flex["bound"] == "1.00 s (bytes) at 4Ki"
    assert [plain[title] for title in titles[2:]] == ["2Ki, not 3Ki", *["–"] * 6]


def test_what_goes_furthest_is_said_first():
    results = suite(planned("dense", K, SPILLING), planned("flex", K, SPILLING), planned("plain", K))
    largest = with_longest(results, dense=(2 * K, 3 * K), flex=(8 * K, None), plain=(2 * K, 3 * K))
    assert limits_lines(results, largest) == [
        f"{target}: the longest length whose plan fits: flex: ≥ 8Ki; dense, plain: 2Ki, not 3Ki."
        for target in TARGETS
    ]


def test_without_kernels_or_without_a_search_there_is_no_row():
    results = suite(planned("dense", K))
    assert limits_table(results, with_longest(results, dense=(2 * K, 3 * K))).rows == ()
    assert limits_table(suite(planned("dense", K, SPILLING)), []).rows == ()
