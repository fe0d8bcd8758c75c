"""Functions of a published table's columns: growth, fit, first length ahead, crossover."""

import math
from collections.abc import Mapping

from harness.analysis.scaling import crossing_lengths
from harness.claims.answers import Missing, OutsideTableError

Column = Mapping[float, float]  # a number by the row's length


def growth(column: Column, length: float) -> float:
    """The value at a length over the value at half of it."""
    if length not in column or length / 2 not in column:
        raise OutsideTableError(f"the table holds no pair of rows at {length / 2:g} and {length:g}")
    if column[length / 2] <= 0:
        raise ValueError(f"growth needs numbers above zero; the row at {length / 2:g} has none")
    return column[length] / column[length / 2]


def fit(column: Column, length: float, *, start: float = 0, square: float = 1) -> float:
    """A + b·N + square·c·N² at a length, by least squares over the rows from `start` on.

    Residuals are relative, so that every row weighs alike; `square` scales the quadratic term, for example
    by 0.5 where blocks twice as long halve it. Missing with fewer than four rows, because three
    coefficients fit three rows exactly.
    """
    import numpy as np

    lengths = np.array([n for n in sorted(column) if n >= start])
    values = np.array([column[n] for n in lengths])
    if len(lengths) <= 3:
        raise Missing(f"a curve of three coefficients takes four rows; {len(lengths)} are there")
    if (values <= 0).any():
        raise ValueError("a fit with relative residuals needs numbers above zero")
    unit = lengths[-1]  # powers of lengths as they are would leave few digits for the solution
    powers = np.stack([np.ones_like(lengths), lengths / unit, (lengths / unit) ** 2], axis=1)
    constant, linear, quadratic = np.linalg.lstsq(powers / values[:, None], np.ones_like(values), rcond=None)[
        0
    ]
    at = length / unit
    return float(constant + linear * at + square * quadratic * at**2)


def first_win(slower: Column, faster: Column) -> float:
    """The first length in the table from which on the second column stays below the first."""
    rows = _common_rows(slower, faster)
    lead = len(rows)
    while lead and rows[lead - 1][2] < rows[lead - 1][1]:
        lead -= 1
    if lead == len(rows):
        raise Missing("the second never stays below the first")
    return rows[lead][0]


def crossover(slower: Column, faster: Column) -> float:
    """The length where the ratio last crosses 1, interpolated between rows linearly in both logarithms.

    ValueError for a row that holds zero or less, which has no logarithm.
    """
    rows = _common_rows(slower, faster)
    for row in rows:
        if min(row) <= 0:
            raise ValueError(f"a crossover needs numbers above zero; a row has {min(row)} at {row[0]}")
    crossings = crossing_lengths((length, math.log(first / second)) for length, first, second in rows)
    if not crossings:
        raise Missing("neither passes the other within the table")
    return crossings[-1]


def _common_rows(first: Column, second: Column) -> list[tuple[float, float, float]]:
    return [(length, first[length], second[length]) for length in sorted(first.keys() & second.keys())]
