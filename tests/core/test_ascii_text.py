"""Text for terminals that take ASCII alone."""

from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import NamedTuple

import pytest

from harness.core.ascii_text import SPELLED, spell_out, to_ascii
from harness.report.tables.cells import Cell
from harness.report.tables.table_data import Column, TableData

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("2.31× [2.25, 2.38], 72.1 µs ± 5 %", "2.31x [2.25, 2.38], 72.1 us +- 5 %"),
        ("≤ 4Ki ≥ 8Ki ≈3× − – ─ → …", "<= 4Ki >= 8Ki ~3x - - - -> ..."),
        ("O(T²), 10⁻¹² s, seq¹,¹²", "O(T^2), 10^-12 s, seq^1,^12"),
        ("café 日", r"caf\xe9 \u65e5"),
        ("plain", "plain"),
    ],
)
def test_signs_are_spelled(text, spelled):
    assert to_ascii(text) == spelled


def test_every_sign_of_the_harness_has_a_spelling():
    kinds = (".py", ".yaml", ".toml", ".template")
    paths = [
        path for name in ("harness", "impls") for path in (ROOT / name).rglob("*") if path.suffix in kinds
    ]
    signs = {sign for path in paths for sign in path.read_text(encoding="utf-8") if not sign.isascii()}
    assert "×" in signs
    assert [sign for sign in sorted(signs) if "\\" in to_ascii(sign)] == []


def test_a_stream_spells_all_that_is_written():
    written = BytesIO()
    with TextIOWrapper(written, encoding=SPELLED, errors=SPELLED) as stream:
        stream.write("3× \udc80")
        stream.flush()
        assert written.getvalue() == rb"3x \udc80"


def test_data_is_spelled_whole():
    class Pair(NamedTuple):
        first: str
        second: object

    table = TableData("a→b", (Column("µs"),), ((Cell("3×", ("≤",)),),))
    assert spell_out(Pair("×", (1, None, table))) == Pair(
        "x", (1, None, TableData("a->b", (Column("us"),), ((Cell("3x", ("<=",)),),)))
    )
