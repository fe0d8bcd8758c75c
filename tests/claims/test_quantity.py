"""Quantities: values, their arithmetic as text, and their origins."""

import math

import pytest

from harness.claims.quantity import (
    GIVEN,
    Ki,
    Mi,
    Missing,
    Quantity,
    ceil,
    every,
    floor,
    known,
    largest,
    log,
    log2,
    number,
    read_number,
    smallest,
)

NARROW = "\u202f"
n = number


@pytest.mark.parametrize(
    ("quantity", "value", "text"),
    [
        (n(7.61) / 1.73, 7.61 / 1.73, "7.61 / 1.73"),
        (1 + n(2) * 3, 7, "1 + 2 · 3"),
        ((1 + n(2)) * 3, 9, "(1 + 2) · 3"),
        (8 / (n(2) * 2), 2, "8 / (2 · 2)"),
        (9 - (n(4) - 1), 6, "9 - (4 - 1)"),
        (9 - n(4) - 1, 4, "9 - 4 - 1"),
        (-(n(2) ** 2), -4, "-2^2"),
        ((-n(2)) ** 2, 4, "(-2)^2"),
        (n(2) ** -24, 2**-24, "2^-24"),
        ((n(2) ** 3) ** 2, 64, "(2^3)^2"),
        (abs(1 - n(3)), 2, "abs(1 - 3)"),
        (n("16Gi") / n("256Mi"), 64, f"17{NARROW}179{NARROW}869{NARROW}184 / 268{NARROW}435{NARROW}456"),
        (274e9 / n(2), 137e9, "2.74e11 / 2"),
        (n(26581.04) / 2, 13290.52, "26581.04 / 2"),
        (n("8.30") * 4, 33.2, "8.30 · 4"),
        (floor(n(2.9)) + ceil(0.1), 3, "floor(2.9) + ceil(0.1)"),
        (log2(8) + log(1), 3, "log2(8) + log(1)"),
        (largest(1, n(2) * 3) / smallest(2, 4), 3, "max(1, 2 · 3) / min(2, 4)"),
    ],
)
def test_arithmetic_is_shown_with_its_numbers(quantity, value, text):
    assert (quantity.value, quantity.text) == (pytest.approx(value), text)


def test_whole_numbers_stay_exact():
    assert (n(1) * 1024 * 2048 * 131072).value == 274877906944
    assert type((128 * n(Ki)).value) is int


CELLS = {"64Ki": 65536, "3.70": 3.7, "26581.04": 26581.04, "1_000": 1000, "-20": -20, "1.5Mi": 1572864}
CELLS |= {"1.3Mi": 1363148.8, "16K": "16K", "OOM": "OOM", "2.0": 2.0, "": ""}


@pytest.mark.parametrize(("text", "value"), CELLS.items())
def test_numbers_are_read_as_printed(text, value):
    assert read_number(text) == value
    assert type(read_number(text)) is type(value)


def test_conditions():
    four = n(4)
    assert [(four < 5).value, (four <= 3).value, (four > 3).value, (four >= 5).value] == [
        True,
        False,
        True,
        False,
    ]
    assert [(four == 4).value, (four != 4).value, (n("ok") == "ok").value] == [True, False, True]
    assert every(four < 5, four > 3).value is True
    assert every(four < 5, four > 4).value is False
    for wrong in (lambda: 3 < four < 5, lambda: four == 4 and True, lambda: max(four, 5), lambda: bool(four)):
        with pytest.raises(TypeError, match=r"no truth value .* write conditions as every"):
            wrong()


def test_results_of_missing_values_are_missing():
    missing = Quantity(None, origins=(("compiled for tpu:v5p", "tpu:v5p"),), missing=Missing("no libtpu"))
    made = 2 * (1 + missing) / known(3.0, ("the device's file", "")) > 4
    assert (made.value, str(made.missing)) == (None, "no libtpu")
    assert (made.by, made.targets) == (("compiled for tpu:v5p", "the device's file"), ("tpu:v5p",))


def test_values_from_the_hosts_compiler_vary():
    host, shape = known(1234567.891, ("compiled for host", "host")), known(Mi, GIVEN)
    assert (host.text, shape.text) == (f"≈{NARROW}1.23457e6", f"1{NARROW}048{NARROW}576")
    assert [(host * shape).varies, shape.varies, known("ok", ("its contract, run here", "host")).varies] == [
        True,
        False,
        False,
    ]
    assert (shape.by, shape.targets) == ((), ())


def test_arithmetic_errors_are_pythons():
    with pytest.raises(ZeroDivisionError):
        n(1) / 0
    with pytest.raises(ValueError, match="math domain error"):
        log(n(0))
    assert math.isclose(log(40).value, math.log(40))
