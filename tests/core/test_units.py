import pytest

from harness.core.units import (
    format_big,
    format_bytes,
    format_count,
    format_ratio,
    format_seconds,
    parse_bytes,
    parse_count,
    parse_seconds,
    parse_share,
)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("128Ki", 131072), ("131_072", 131072), (4096, 4096), (" 2 Mi ", 2 << 20), ("1.5Ki", 1536),
        ("1e3", 1000), ("1e23", 10**23), ("0.5e1Ki", 5 << 10), ("9007199254740993", 2**53 + 1),
        ("9_007_199_254_740_993Ki", (2**53 + 1) << 10), (2**60 + 1, 2**60 + 1), ("0", 0),
        ("0.0e999", 0), ("0" * 400 + "7", 7),
    ],
)  # fmt: skip
def test_a_count_may_carry_a_binary_prefix(text, count):
    assert parse_count(text) == count


@pytest.mark.parametrize(
    ("parse", "text", "says"),
    [
        (parse_count, "1 M", "not a quantity"),
        (parse_count, "4q", "not a quantity"),
        (parse_count, "1e308Ki", "too large"),
        (parse_bytes, "1e308KiB", "too large"),
        (parse_seconds, "1e308h", "too large"),
        (parse_count, "1.5", "not a whole number"),
        (parse_count, "4503599627370497.25", "not a whole number"),
        (parse_count, "1e-999", "not a whole number"),
        (parse_count, "1e999", "too large"),
        (parse_count, "1e999999999", "not a quantity"),
        (parse_count, "-1", "not a quantity"),
        (parse_count, True, "not a quantity"),
        (parse_count, "9" * 400, "too large"),
        (parse_count, "9" * 5000, "not a quantity"),
        (parse_count, f"1.{'1' * 5000}", "not a quantity"),
        (parse_count, "", "not a quantity"),
        (parse_bytes, "18GB2", "not a quantity"),
        (parse_bytes, "18Gb", "not a quantity"),
        (parse_seconds, "4 days", "not a quantity"),
        (parse_share, "0", "not between"),
        (parse_share, "101%", "not between"),
        (parse_share, "5s", "not a quantity"),
    ],
)
def test_what_is_no_quantity_is_named(parse, text, says):
    with pytest.raises(ValueError, match=says):
        parse(text)


def test_bytes_seconds_and_shares():
    assert parse_bytes("18GiB") == 18 * 2**30
    assert parse_bytes("9007199254740993") == 2**53 + 1
    assert parse_bytes("1.1GiB") == 1181116006
    assert parse_bytes("512") == 512
    assert parse_seconds("250ms") == 0.25
    assert parse_seconds("2m") == 120
    assert parse_seconds(4) == 4
    assert parse_share("5%") == parse_share("0.05") == 0.05


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.00142, "1.42 ms"), (0.0009996, "1.00 ms"), (12.345, "12.3 s"), (123.4, "123 s"),
        (3.3e-6, "3.30 µs"), (5e-9, "5.00 ns"), (0, "0 s"), (9.999, "10.0 s"),
    ],
)  # fmt: skip
def test_seconds_have_three_digits_in_the_unit_that_fits(seconds, shown):
    assert format_seconds(seconds) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [(264 << 30, "264 GiB"), (1023, "1023 B"), (2**20 - 1, "1.00 MiB"), (3 * 2**39, "1.50 TiB"), (0, "0 B")],
)
def test_bytes_are_binary(count, shown):
    assert format_bytes(count) == shown


def test_counts_big_numbers_and_ratios():
    assert [format_count(n) for n in (131072, 3 << 20, 1000, 0)] == ["128Ki", "3Mi", "1000", "0"]
    assert [format_big(n) for n in (549755813888, 9999, 0)] == ["5.50e11", "9999", "0"]
    assert [format_ratio(r) for r in (2.304, 12.34, 123456, 0.0)] == ["2.30×", "12.3×", "1.23e5×", "0×"]
