"""Fits and crossovers of published columns."""

import math

import pytest

from harness.claims.documents import crossover, first_win, fit
from harness.claims.quantity import Missing

LENGTHS = [1024 * 2**k for k in range(7)]


def curve(constant=0.0, linear=0.0, quadratic=0.0, lengths=LENGTHS):
    return {float(n): constant + linear * n + quadratic * n**2 for n in lengths}


@pytest.mark.parametrize("length", [512, 65536, 1 << 20])
def test_a_fit_finds_the_exact_curve(length):
    assert fit(curve(0.3, 2e-5, 7e-10), length) == pytest.approx(0.3 + 2e-5 * length + 7e-10 * length**2)


def test_residuals_are_relative():
    """Four rows are one per cent off a line: large values have no more weight."""
    column = {n: 1e-3 * n * (1.01 if place % 2 else 0.99) for place, n in enumerate((1.0, 10.0, 100.0, 1e3))}
    assert max(abs(fit(column, n) / value - 1) for n, value in column.items()) < 0.02


def test_a_fit_needs_four_positive_rows():
    for start, count in ((0, 3), (4096, 5)):
        with pytest.raises(Missing, match="needs four rows; the table has 3"):
            fit(curve(1, lengths=LENGTHS[:count]), 65536, start=start)
    with pytest.raises(ValueError, match="a fit with relative residuals needs numbers above zero"):
        fit({**curve(1), 1024.0: 0.0}, 65536)


def test_first_win_is_the_length_from_which_the_column_stays_below():
    dense = {1: 2.0, 2: 2.0, 4: 2.0, 8: 2.0}
    assert first_win(dense, {1: 1.0, 2: 3.0, 4: 1.0, 8: 1.0}) == 4
    assert first_win({1: 2.0}, {1: 1.0}) == 1
    assert first_win(dense, {2: 1.0, 1: 1.0}) == 1  # in the order of the lengths

    for behind in ({1: 1.0, 2: 2.0}, {1: 1.0, 2: 3.0}, {4: 1.0}):
        with pytest.raises(Missing, match="never stays below"):
            first_win({1: 2.0, 2: 2.0}, behind)


def test_a_crossover_is_the_last_and_is_interpolated_in_both_logarithms():
    # dense over sparse is 1/4 at 1Ki and 4 at 16Ki: in the middle of the logarithms, 4Ki
    assert crossover({1024: 1.0, 16384: 16.0}, {1024: 4.0, 16384: 4.0}) == pytest.approx(4096)
    # between 4 and 8 the ratio goes from 1/2 to 2
    dense, sparse = {1: 1.0, 2: 2.0, 4: 1.0, 8: 2.0}, {1: 2.0, 2: 1.0, 4: 2.0, 8: 1.0}
    assert crossover(dense, sparse) == pytest.approx(math.sqrt(32))
    with pytest.raises(Missing, match="the columns do not cross"):
        crossover({1: 1.0, 2: 1.0}, {1: 2.0, 2: 3.0})


@pytest.mark.parametrize("row", [(4, 0.0, 1.0), (4, 1.0, 0.0), (4, -1.0, 1.0), (0, 1.0, 1.0)])
def test_a_crossover_needs_positive_numbers(row):
    length, first, second = row
    with pytest.raises(ValueError, match=f"a crossover needs numbers above zero; .* at {length}$"):
        crossover({1: 1.0, length: first}, {1: 2.0, length: second})
