from harness.core.record import Cost
from harness.report.tables.detail import detail_table
from harness.report.tables.targets import growth_table
from tests.report.tables.columns import notes, texts

GIB = 2**30


def test_one_length_has_no_growth(suite, mask):
    assert growth_table(next(iter(suite(mask[:2]).panels.values()))).rows == ()


def test_a_loops_body_has_no_exponent(suite, record, static):
    records = [
        record("broadcast", seq, static={"tpu:v5e": static(flops=1.0 * seq, temp_bytes=seq, body_only=True)})
        for seq in (4096, 8192, 16384)
    ]
    found = suite(records)
    table = growth_table(next(iter(found.panels.values())))
    assert texts(table, "∝ seq^") == ["temp"]
    assert texts(table, "tpu:v5e") == ["1.00"]


def test_an_exponent_that_one_target_lacks_says_why(suite, record, static):
    def figures(seq):
        return {"host": static(flops=1.0 * seq**2), "tpu:v5e": static(flops=1.0 * seq, body_only=True)}

    found = suite([record("broadcast", seq, static=figures(seq)) for seq in (4096, 8192, 16384)])
    table = growth_table(next(iter(found.panels.values())))
    assert (texts(table, "host"), texts(table, "tpu:v5e")) == (["2.00"], ["–"])
    assert notes(table, "tpu:v5e", 0) == ["needs ≥ 2 lengths; has 0 (body only)"]


def test_the_detail_of_one_target_has_the_rest(suite, record, static):
    figures = static(
        argument_bytes=GIB, output_bytes=GIB, temp_bytes=GIB, alias_bytes=GIB, peak_bytes=3 * GIB,
        generated_code_bytes=2048, bytes_accessed=4.0 * GIB, optimal_s=0.002, lower_s=0.03, compile_s=1.2,
        custom_calls=("PartialReduce",), opcodes={"add": 3, "sort": 1, "custom-call": 1, "dot": 2},
    )  # fmt: skip
    found = suite([record("broadcast", 4096, static={"tpu:v5e": figures}, cost=Cost(flops=7.0, bytes=GIB))])
    (panel,) = found.panels.values()
    table = detail_table(panel, "tpu:v5e")
    assert {c.title: cell.text for c, cell in zip(table.columns, table.rows[0], strict=True)} == {
        "seq": "4Ki", "implementation": "broadcast", "planned": "2.00 GiB", "arguments": "1.00 GiB",
        "outputs": "1.00 GiB", "aliases": "1.00 GiB", "peak": "3.00 GiB", "code": "2.00 KiB",
        "bytes accessed": "4.00 GiB", "optimal": "2.00 ms", "FLOPs by formula": "7",
        "bytes by formula": "1.00 GiB", "lower": "30 ms", "compile": "1.2 s", "custom calls": "PartialReduce",
        "operations": "2 dot, 1 sort, 1 custom-call",
    }  # fmt: skip
    ranks = [
        {c.title: c.rank for c in detail_table(panel, "tpu:v5e", r).columns} for r in ((), ("operations",))
    ]
    assert [rank["operations"] for rank in ranks] == [14, 1]


def test_no_class_of_operations_is_none_of_them_and_no_module_is_unknown(suite, record, static):
    def operations_column(figures):
        (panel,) = suite([record("broadcast", 4096, static={"host": figures})]).panels.values()
        return texts(detail_table(panel), "operations")

    assert operations_column(static(opcodes={"add": 3})) == ["0"]
    assert operations_column(static()) == ["–"]
